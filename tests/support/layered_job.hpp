#pragma once

/// @file
/// A small data-parallel job: layers of products and norms, a backward pass that reduces gradients layer by
/// layer, an optimizer. Its sizes are arguments.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/yaml_reader.hpp"
#include "ops/gpu/gpu_spec.hpp"
#include "ops/job.hpp"
#include "ops/program_builder.hpp"
#include "tests/support/program_listing.hpp"

namespace lockstep::testing {

inline GpuSpec shipped_a100() {
  return read_file<GpuSpec>(LOCKSTEP_SOURCE_DIR "/configs/gpus/a100_40gb.yaml");
}

struct LayeredSizes {
  int layers = 6;
  std::int64_t hidden = 256, tokens = 480;
  std::uint32_t ranks = 4;
  DataType type = DataType::BF16;
  CollectiveKind reduction = CollectiveKind::AllReduce;
  int reduced_at_once = 1;                 ///< layers
  std::string secret = "AcmeMegaModelV7";  ///< in every name
};

inline void launch_product(ProgramBuilder& rank, const LayeredSizes& of, StreamId stream,
                           const Gemm& product) {
  rank.begin(of.secret + "::linear");
  rank.launch(stream, {of.secret + "_gemm_128x64", of.type, product});
  rank.end();
}

inline void write_forward(ProgramBuilder& rank, const LayeredSizes& of, StreamId stream) {
  for (int layer = 0; layer < of.layers; ++layer) {
    rank.begin_range(of.secret + ".layers." + std::to_string(layer));
    rank.begin("aten::layer_norm");
    rank.launch(stream, {"norm_" + of.secret, of.type, LayerNorm{of.tokens, of.hidden}});
    rank.end();
    launch_product(rank, of, stream, Gemm{1, of.tokens, 4 * of.hidden, of.hidden});
    launch_product(rank, of, stream, Gemm{1, of.tokens, of.hidden, 4 * of.hidden});
    rank.end_range();
  }
}

inline void write_backward(ProgramBuilder& rank, const LayeredSizes& of, StreamId stream, StreamId reducing) {
  const GroupId world = rank.group(of.secret + "_dp");
  for (int layer = 0; layer < of.layers; ++layer) {
    rank.begin_range(of.secret + ".backward." + std::to_string(layer));
    launch_product(rank, of, stream, Gemm{1, of.tokens, 4 * of.hidden, of.hidden});
    launch_product(rank, of, stream, Gemm{1, 4 * of.hidden, of.hidden, of.tokens});
    launch_product(rank, of, stream, Gemm{1, of.tokens, of.hidden, 4 * of.hidden});
    launch_product(rank, of, stream, Gemm{1, of.hidden, 4 * of.hidden, of.tokens});
    if ((layer + 1) % of.reduced_at_once != 0) {
      rank.end_range();
      continue;
    }
    const EventId ready = rank.event();
    rank.record(stream, ready);
    rank.stream_wait(reducing, ready);
    const double bytes = 8 * of.reduced_at_once * size_of(of.type).in_base_units() *
                         static_cast<double>(of.hidden) * static_cast<double>(of.hidden);
    rank.collective(reducing, {of.reduction, of.type, world, Bytes{bytes}, {}, 0});
    rank.end_range();
  }
}

inline Job layered_job(const LayeredSizes& of) {
  ProgramBuilder rank{plain_host()};
  const StreamId stream = rank.stream(of.secret + " compute");
  const StreamId reducing = rank.stream(of.secret + " nccl");
  write_forward(rank, of, stream);
  write_backward(rank, of, stream, reducing);
  const EventId reduced = rank.event();
  rank.record(reducing, reduced);
  rank.stream_wait(stream, reduced);
  rank.launch(stream, {"adam_" + of.secret, DataType::FP32,
                       OptimizerUpdate{Optimizer::AdamW, 8 * of.layers * of.hidden * of.hidden, 2}});
  rank.wait_device();
  Job job;
  job.programs.push_back(std::make_shared<const Program>(std::move(rank).build()));
  ProcessGroup world{of.secret + "_dp", {}};
  for (std::uint32_t i = 0; i < of.ranks; ++i) {
    world.ranks.push_back(i);
    job.ranks.push_back({i, 0, {0}, {}, {}});
  }
  job.groups.push_back(std::move(world));
  return job;
}

}  // namespace lockstep::testing
