#pragma once

#include <cstdint>
#include <vector>

#include "ops/program.hpp"
#include "traces/replay/rank_program.hpp"

namespace lockstep::replay {

/// A gradient of a recorded step, where it is ready to be sent.
struct RecordedGradient {
  std::size_t after = 0;  ///< the instruction behind which it can be sent
  Nanoseconds ready = 0;
  double weight = 0;  ///< its part of the bucket, in whatever unit; 0: not known
};

/// An all-reduce of gradients, with what it carries.
struct RecordedBucket {
  std::size_t thread = 0, instruction = 0;  ///< of its Collective
  std::uint32_t call = 0;                   ///< index into Program::collectives
  Nanoseconds issued = 0;
  std::vector<RecordedGradient> gradients;  ///< in the order in which they became ready; the last sends it
  bool begins_series = false;               ///< those before it are over: another step, or another round
};

/// Finds the all-reduces of gradients that DistributedDataParallel (torch/csrc/distributed/c10d/reducer.cpp)
/// and its like send during backward: those launched within a range `...AccumulateGrad...` of autograd, or
/// right behind such ranges. Each range is a gradient. Its part of the bucket is its size where the trace
/// says shapes, else the time of the kernels that copy it.
/// @return by thread and instruction
[[nodiscard]] std::vector<RecordedBucket> find_buckets(const RankRecording& rank, const RankProgram& written,
                                                       const Program& program);

}  // namespace lockstep::replay
