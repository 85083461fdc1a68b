#pragma once

/// @file
/// Jobs of transformers by a plan, without a cluster, and what their programs hold.

#include <numeric>
#include <optional>
#include <vector>

#include "ops/workload/parallel/parallel_job.hpp"
#include "tests/support/program_listing.hpp"

namespace lockstep {

struct Batch {
  int ranks = 1;
  std::int64_t batch = 1;
  int micro_batches = 1;
  Precision precision = Precision::BF16;
  bool clip = false;
  Phases phases = Phases::Step;
  FrameworkSpec framework = {};
  MixedPrecision mixed = MixedPrecision::Autocast;
};

constexpr BytesPerSecond kHostBandwidth{100e9};  // for each rank

inline Job job_of(const TransformerSpec& model, const TransformerPlanSpec& plan, const Batch& run) {
  std::vector<VertexId> gpus(static_cast<std::size_t>(run.ranks));
  std::iota(gpus.begin(), gpus.end(), 0U);
  TrainingSetup setup;
  setup.global_batch = run.batch;
  setup.gradient_accumulation = run.micro_batches;
  setup.precision = run.precision;
  setup.mixed_precision = run.mixed;
  setup.phases = run.phases;
  setup.framework = run.framework;
  setup.host = plain_host();
  setup.parallelism.transformer = plan;
  setup.clip_gradients = run.clip;
  setup.gpus = gpus;
  const std::vector<BytesPerSecond> host_bandwidth(gpus.size(), kHostBandwidth);
  setup.host_bandwidth = host_bandwidth;
  Job job = parallel_transformer_job(model, setup);
  check(job);
  return job;
}

/// Layers of GPT-3 175B.
inline TransformerSpec gpt3() {
  TransformerSpec spec;
  spec.implementation = Implementation::Megatron;
  spec.layers = 4;
  spec.hidden = 12288;
  spec.heads = 96;
  spec.vocabulary = 51200;
  spec.positions = spec.sequence = 2048;
  return spec;
}

/// Four layers of a Llama, as many keys as queries, a vocabulary that is a multiple of 128 for one and two
/// ranks.
inline TransformerSpec small_llama(Implementation implementation) {
  TransformerSpec spec;
  spec.implementation = implementation;
  spec.layers = 4;
  spec.hidden = 2048;
  spec.heads = 32;
  spec.feed_forward = 4096;
  spec.vocabulary = 50304;
  spec.positions = spec.sequence = 4096;
  spec.normalisation = Normalisation::Rms;
  spec.activation = Activation::SwiGlu;
  spec.position_encoding = PositionEncoding::Rotary;
  spec.attention = AttentionKernels::Flash;
  spec.bias = spec.dropout = false;
  return spec;
}

/// Arithmetic of all matrix products of all ranks; of one type when given.
inline double flops(const Job& job, std::optional<DataType> type = {}) {
  double sum = 0;
  for (const RankAssignment& rank : job.ranks) {
    const Program& program = *job.programs[rank.program];
    for (const Program::Thread& thread : program.threads) {
      for (const Instruction& instruction : thread.instructions) {
        if (instruction.op != Opcode::Launch) {
          continue;
        }
        const KernelCall& call =
            program
                .kernels[instruction.per_rank ? rank.kernel_slots[instruction.operand] : instruction.operand];
        const auto* gemm = std::get_if<Gemm>(&call.work);
        if (gemm != nullptr && type.value_or(call.type) == call.type) {
          sum += 2.0 * static_cast<double>(gemm->batch) * static_cast<double>(gemm->m) *
                 static_cast<double>(gemm->n) * static_cast<double>(gemm->k);
        }
      }
    }
  }
  return sum;
}

/// Launches of the first rank whose kernel has that in its name.
inline std::vector<KernelCall> launches_of(const Job& job, std::string_view name) {
  const Program& program = *job.programs[job.ranks.front().program];
  std::vector<KernelCall> calls;
  for (const Program::Thread& thread : program.threads) {
    for (const Instruction& instruction : thread.instructions) {
      if (instruction.op == Opcode::Launch &&
          program.kernels[instruction.operand].name.find(name) != std::string::npos) {
        calls.push_back(program.kernels[instruction.operand]);
      }
    }
  }
  return calls;
}

/// Seconds that the first rank's host spends in work of that name.
inline double host_seconds(const Job& job, std::string_view name) {
  double sum = 0;
  const Program& program = *job.programs[job.ranks.front().program];
  for (const Program::Thread& thread : program.threads) {
    for (const Instruction& instruction : thread.instructions) {
      if (instruction.op == Opcode::HostWork && program.names[instruction.operand] == name) {
        sum += instruction.cost;
      }
    }
  }
  return sum;
}

/// All collectives of a kind that a rank calls, in order of its program.
inline std::vector<CollectiveCall> collectives_of(const Job& job, std::size_t rank, CollectiveKind kind) {
  const RankAssignment& assignment = job.ranks.at(rank);
  const Program& program = *job.programs[assignment.program];
  std::vector<CollectiveCall> calls;
  for (const Program::Thread& thread : program.threads) {
    for (const Instruction& instruction : thread.instructions) {
      if (instruction.op != Opcode::Collective) {
        continue;
      }
      const CollectiveCall& call =
          program.collectives[instruction.per_rank ? assignment.collective_slots[instruction.operand]
                                                   : instruction.operand];
      if (call.kind == kind) {
        calls.push_back(call);
      }
    }
  }
  return calls;
}

/// Bytes of all collectives of a kind that a rank calls.
inline double bytes_communicated(const Job& job, CollectiveKind kind, std::size_t rank = 0) {
  double sum = 0;
  for (const CollectiveCall& call : collectives_of(job, rank, kind)) {
    sum += call.size.in_base_units();
  }
  return sum;
}

}  // namespace lockstep
