#pragma once

/// @file
/// A benchmark: a Job, and by which means each of its kernels is to be reproduced.

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ops/job.hpp"
#include "topology/gpu_spec.hpp"
#include "traces/replay/replay_job.hpp"

namespace lockstep::generate {

/// Language of the program.
enum class Target : std::uint8_t { Cuda, PyTorch };

/// By what means a kernel is reproduced, the most faithful first.
enum class Backend : std::uint8_t {
  Library,   ///< the same call of cuBLASLt, cuDNN or the CUDA runtime
  Own,       ///< a kernel of its family with the same sizes
  Operator,  ///< PyTorch's operator
  Busy,      ///< a kernel that holds the GPU for the same time
  Skipped,   ///< not at all
};
inline constexpr auto kBackends =
    std::to_array<std::string_view>({"library", "own", "operator", "busy", "skipped"});  ///< names by Backend

/// What a kernel of a Program comes to.
struct BenchmarkKernel {
  std::string name;               ///< as the source calls it
  std::string family;             ///< one word
  std::vector<KernelCall> calls;  ///< what it does; empty: only its time is known, or `is_part`
  Backend backend = Backend::Busy;
  /// It belongs to an operator of several kernels, of which the longest is launched with the whole work.
  bool is_part = false;
  double seconds = 0;  ///< simulated, alone on its GPU; of a trace recorded or predicted
};

struct Benchmark {
  Job job;
  std::vector<std::vector<BenchmarkKernel>> kernels;  ///< by program and Program::kernels
  /// By program and Program::collectives: seconds that missing members would have taken; empty: none are
  /// missing.
  std::vector<std::vector<double>> delays;
};

/// What a kernel whose work is known is reproduced by; Busy where the target has no means.
[[nodiscard]] Backend backend_for(const KernelCall& call, Target target);

/// Of a scenario.
/// @param gpu_model_of_rank index into @p gpu_models, by rank
[[nodiscard]] Benchmark benchmark_of(const Job& job, std::span<const GpuSpec> gpu_models,
                                     std::span<const std::uint32_t> gpu_model_of_rank, Target target);

/// Of recorded traces: kernels do what their operators say, and take what @p replay says.
[[nodiscard]] Benchmark benchmark_of(const replay::Replay& replay, Target target);

}  // namespace lockstep::generate
