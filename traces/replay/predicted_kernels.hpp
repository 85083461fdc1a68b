#pragma once

/// @file
/// A replay whose kernels take what the kernel models say: a trace of one GPU as a prediction for another,
/// or, on the GPU that was recorded, a test of the models.

#include <span>
#include <string>
#include <vector>

#include "ops/gpu/gpu_spec.hpp"
#include "traces/replay/modelled_work.hpp"
#include "traces/replay/replay_job.hpp"

namespace lockstep::replay {

/// Kernels of one kind: recorded against predicted, in seconds over all traces.
struct FamilyComparison {
  std::string family;
  std::uint64_t kernels = 0;
  double recorded = 0, predicted = 0;
  std::uint64_t compared = 0;  ///< works that took kLeastCompared or more
  double geometric_mean = 0;   ///< of their absolute relative errors
  /// Seconds of the works that ran while the rank did not communicate: models predict kernels that are alone.
  double alone_recorded = 0, alone_predicted = 0;
};

/// Traces of whole microseconds say little about shorter kernels.
inline constexpr double kLeastCompared = 5e-6;

/// Kernels of one name that no model answers for.
struct UnmodelledKernels {
  std::string name;
  std::uint64_t kernels = 0;
  double recorded = 0;
};

struct KernelComparison {
  std::vector<FamilyComparison> families;     ///< the longest first
  std::vector<UnmodelledKernels> unmodelled;  ///< the longest first
  double recorded = 0;                        ///< all work but communication, s
  double unmodelled_factor = 1;               ///< on the recorded times of the rest
  double profiler = 0;         ///< s that the profiler adds to each kernel; part of what is predicted
  std::uint64_t smallest = 0;  ///< kernels that tell it

  /// Sums over the families.
  [[nodiscard]] FamilyComparison modelled() const;
};

/// Launches of @p replay take what the models say on @p gpu, and what the profiler adds to a kernel: the
/// median that the smallest element-wise kernels, of which models say that they take the least that a kernel
/// takes, took longer when recorded. 20 of them must tell it, and it is not below 0. While the rank
/// communicates they run on the SMs that this leaves (Interference). Kernels of one work share its time as
/// they did when recorded. TF32 is FP32 on a GPU without it, and convolutions of a GPU without TF32 take it
/// on one that has it, as PyTorch does unless told otherwise.
/// @param recorded_on whose least kernel tells what the profiler adds; null: @p gpu's, and what no model
/// answers for keeps its recorded time; else it is scaled by the two
///   GPUs' memory bandwidths, which is a guess
/// @param tables as modelled_work() has them
/// @throws std::invalid_argument where lookups were over none of @p tables
KernelComparison predict_kernels(Replay& replay, const GpuSpec& gpu, const GpuSpec* recorded_on,
                                 std::span<const EmbeddingTable> tables = {});

}  // namespace lockstep::replay
