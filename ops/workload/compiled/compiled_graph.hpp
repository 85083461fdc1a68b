#pragma once

#include <cstddef>

#include "ops/host_overhead.hpp"
#include "ops/workload/step_writer.hpp"

namespace lockstep {

/// Calls of compiled graphs, as a profiler names them. A host's profile may list them under `operators`: T2
/// is what comes before the first kernel, T5 what lies between two.
inline constexpr const char* kCompiledRegion = "Torch-Compiled Region";  ///< guards, then the graph
inline constexpr const char* kCompiledForward = "CompiledFunction";      ///< a further graph of the region
inline constexpr const char* kCompiledBackward = "CompiledFunctionBackward";

/// @p host with the costs of compiled graphs where it does not list them.
///
///   T2 = 35.4 us a graph; of the region besides 2.2 us a parameter, whose guards are checked
///   T5 = 4.8 us: Python calls a Triton launcher
///
/// *Source*: meta-pytorch/tritonbench pull request 1017 (GB200's host): an empty graph with one kernel takes
/// 44.3 us without arguments and 42.4 us with 19, its launcher 6.8 and 9.1 us, cuLaunchKernel in it 3.0 and
/// 3.3 us: means of the differences. Guards: PyTorch issue 191753, Qwen3-8B of Hugging Face (399 parameters):
/// 0.761 ms of cache lookup and 0.131 ms of bytecode before the graph; vLLM pull request 11216 has 0.29 ms
/// for OPT-125M (197).
///
/// *Assumes* that products called through `extern_kernels` cost as much as Triton's launches, and that other
/// hosts and versions of PyTorch are as fast: a guess for those.
///
/// @param parameters tensors of the model, each of which has guards
[[nodiscard]] HostOverheads with_compiled_graphs(HostOverheads host, std::size_t parameters);

}  // namespace lockstep
