#pragma once

/// @file
/// A benchmark: a Job, and the means that reproduces each of its kernels.

#include <array>
#include <compare>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ops/gpu/gpu_spec.hpp"
#include "ops/job.hpp"
#include "traces/pytorch_et/execution_trace.hpp"
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
  /// Seconds that its stream rests after it: what `seconds` has beyond the kernel itself. Below 0 a busy
  /// kernel holds the GPU for less.
  double delay = 0;
  std::vector<std::uint32_t> reads{}, writes{};  ///< indices into MemoryPlan::views of its program
  std::int32_t graph = -1;  ///< CUDA graph of its program that launches it; -1: a launch of its own
};

/// Memory of a program's tensors, each at its place for as long as it lives.
struct MemoryPlan {
  /// A view is the part of a storage that a kernel sees.
  struct View {
    std::int64_t place = 0, bytes = 0;  ///< place: from the begin of the planned memory
    auto operator<=>(const View&) const = default;
  };
  std::vector<View> views;
  std::int64_t bytes = 0;      ///< of all places
  std::int64_t allocator = 0;  ///< bytes that PyTorch's caching allocator reserves for the same storages
  std::uint32_t storages = 0;
};

struct Benchmark {
  Job job;
  std::vector<std::vector<BenchmarkKernel>> kernels;  ///< by program and Program::kernels
  /// Seconds that the missing members of a collective would have taken, by program and
  /// Program::collectives; empty: no member is missing.
  std::vector<std::vector<double>> delays{};
  std::vector<MemoryPlan> memory{};  ///< by program; empty: nothing is known of storages
};

/// Picks the back-end for a kernel of known work; Busy where the target has no other means.
[[nodiscard]] Backend backend_for(const KernelCall& call, Target target);

/// Makes the benchmark of a scenario.
/// @param gpu_model_of_rank index into @p gpu_models, by rank
[[nodiscard]] Benchmark benchmark_of(const Job& job, std::span<const GpuSpec> gpu_models,
                                     std::span<const std::uint32_t> gpu_model_of_rank, Target target);

/// Makes the benchmark of recorded traces: operators give a kernel's work, @p replay its time.
/// @param execution_traces none, or one for each trace of the replay: they say which storages kernels share
[[nodiscard]] Benchmark benchmark_of(const replay::Replay& replay,
                                     std::span<const pytorch_et::ExecutionTrace> execution_traces,
                                     Target target);

}  // namespace lockstep::generate
