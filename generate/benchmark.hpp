#pragma once

/// @file
/// A benchmark: a Job, and the means that reproduces each of its kernels.

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ops/gpu/gpu_spec.hpp"
#include "ops/job.hpp"
#include "traces/replay/replay_job.hpp"

namespace lockstep::generate {

/// Language of the program.
enum class Target : std::uint8_t { Cuda, PyTorch };

/// Means that reproduces a kernel, the most faithful first.
enum class Backend : std::uint8_t {
  Library,   ///< the same call of cuBLASLt, cuDNN or the CUDA runtime
  Own,       ///< a kernel of its family with the same sizes
  Operator,  ///< PyTorch's operator
  Busy,      ///< a kernel that holds the GPU for the same time
  Skipped,   ///< not at all
};
inline constexpr auto kBackends =
    std::to_array<std::string_view>({"library", "own", "operator", "busy", "skipped"});  ///< names by Backend

/// A kernel of a Program as the benchmark reproduces it.
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
  /// Seconds that the missing members of a collective would have taken, by program and
  /// Program::collectives; empty: no member is missing.
  std::vector<std::vector<double>> delays;
};

/// Picks the back-end for a kernel of known work; Busy where the target has no other means.
[[nodiscard]] Backend backend_for(const KernelCall& call, Target target);

/// Makes the benchmark of a scenario.
/// @param gpu_model_of_rank index into @p gpu_models, by rank
[[nodiscard]] Benchmark benchmark_of(const Job& job, std::span<const GpuSpec> gpu_models,
                                     std::span<const std::uint32_t> gpu_model_of_rank, Target target);

/// Makes the benchmark of recorded traces: operators give a kernel's work, @p replay its time.
[[nodiscard]] Benchmark benchmark_of(const replay::Replay& replay, Target target);

}  // namespace lockstep::generate
