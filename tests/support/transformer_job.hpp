#pragma once

/// @file
/// Jobs of Hugging Face's transformers without a cluster, and what their programs hold.

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

#include "base/yaml_reader.hpp"
#include "ops/workload/encoder_decoder.hpp"
#include "ops/workload/model_spec.hpp"
#include "ops/workload/transformer.hpp"
#include "tests/support/program_listing.hpp"

namespace lockstep {

using namespace lockstep::literals;

inline ModelSpec shipped(const std::string& name) {
  return read_file<ModelSpec>(LOCKSTEP_SOURCE_DIR "/configs/models/" + name + ".yaml");
}

inline std::int64_t parameters_of_model(const std::string& name) {
  const std::vector<std::int64_t> all = shipped(name).transformer->parameters();
  return std::accumulate(all.begin(), all.end(), std::int64_t{0});
}

struct Run {
  std::size_t ranks = 1;
  std::int64_t batch = 8;
  Precision precision = Precision::FP32;
  int micro_batches = 1;
  bool clips = false;
  OptimizerStyle optimizer = OptimizerStyle::MultiTensor;
  Phases phases = Phases::Step;
  MixedPrecision mixed = MixedPrecision::Autocast;
  Optimizer update = Optimizer::AdamW;
  bool apex = false;
  bool clip_reads_norm = false;
  EmbeddingBackward embedding_backward = EmbeddingBackward::PyTorch112;
  bool no_sync = true, synchronize = false;
  Recompute recompute = Recompute::None;
  Transformers transformers = Transformers::V4;
  bool early_stop = false;
  int every = 1;
};

template <class Spec>
Job job_by(Job (*make)(const Spec&, const TrainingSetup&), const Spec& spec, const Run& run) {
  std::vector<VertexId> gpus(run.ranks);
  std::iota(gpus.begin(), gpus.end(), 0U);
  const std::vector<Bytes> memory(run.ranks, 80_GB);
  FrameworkSpec framework;
  framework.optimizer = run.optimizer;
  framework.apex = run.apex;
  framework.clip_reads_norm = run.clip_reads_norm;
  framework.embedding_backward = run.embedding_backward;
  framework.no_sync = run.no_sync;
  framework.synchronize = run.synchronize;
  framework.transformers = run.transformers;
  return make(spec, {.global_batch = run.batch,
                     .precision = run.precision,
                     .mixed_precision = run.mixed,
                     .framework = framework,
                     .parallelism = {.transformer = {.recompute = run.recompute,
                                                     .recompute_every = run.every,
                                                     .recompute_early_stop = run.early_stop}},
                     .host = plain_host(),
                     .gradient_accumulation = run.micro_batches,
                     .clip_gradients = run.clips,
                     .optimizer = {.kind = run.update},
                     .phases = run.phases,
                     .gpus = gpus,
                     .gpu_memory = memory});
}

inline Job job_of(const TransformerSpec& spec, const Run& run) {
  return job_by(transformer_job, spec, run);
}

inline Job job_of(const EncoderDecoderSpec& spec, const Run& run) {
  return job_by(encoder_decoder_job, spec, run);
}

inline Job job_of(const std::string& name, const Run& run) {
  return job_of(shipped(name).transformer.value(), run);
}

inline std::int64_t count(const Job& job, const std::string& op_or_kernel) {
  std::int64_t found = 0;
  for (const ListedOperator& op : operators_of(job)) {
    found += op.name == op_or_kernel ? 1 : 0;
    found += std::count(op.kernels.begin(), op.kernels.end(), op_or_kernel);
  }
  return found;
}

inline double gemm_flops(const Job& job) {
  double flops = 0;
  for (const Program::Thread& thread : job.programs[0]->threads) {
    for (const Instruction& i : thread.instructions) {
      if (i.op == Opcode::Launch) {
        if (const auto* gemm = std::get_if<Gemm>(&job.programs[0]->kernels[i.operand].work)) {
          flops += 2.0 * static_cast<double>(gemm->batch * gemm->m * gemm->n * gemm->k);
        }
      }
    }
  }
  return flops;
}

}  // namespace lockstep
