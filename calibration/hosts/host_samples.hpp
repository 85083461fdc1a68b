#pragma once

/// @file
/// What a host spent on PyTorch's operators and CUDA's calls, read off recorded traces: T1 to T5 of Lin et
/// al. (arXiv 2201.07821, sec. III).

#include <map>
#include <string>
#include <vector>

#include "base/units.hpp"
#include "ops/host_overhead.hpp"
#include "traces/kineto/recorded_trace.hpp"

namespace lockstep {

/// Each time that an operator was seen.
struct OperatorSamples {
  std::vector<Seconds> before_first_launch, after_last_launch, between_launches, without_launch;

  [[nodiscard]] std::size_t most() const;  ///< samples of any part
};

struct HostSamples {
  std::map<std::string, OperatorSamples> operators;   ///< by name, autograd's under their function's
  std::vector<Seconds> between_operators;             ///< on autograd's thread and in optimizers' steps
  std::vector<Seconds> between_module_operators;      ///< elsewhere, before modules' first operators
  std::map<RuntimeCall, std::vector<Seconds>> calls;  ///< as recorded, the profiler's cost included
  std::size_t at_full_queue = 0;  ///< calls that are not among them: they waited for the launch queue
  std::vector<Seconds> synchronize_return, backward_start, backward_return;  ///< gaps as recorded
};

/// Adds what @p trace shows. An operator is an outermost one of its thread; autograd's `evaluate_function`
/// counts under the name of its function, annotations are looked through.
///
///   T1   between two outermost operators that follow within 2 to 200 us, less event_cost: on autograd's
///        thread (one in 20 of its operators is a node of backward) and within Optimizer.step; elsewhere
///        before an operator with which a module begins. What else Python does between operators is the
///        traced program's own
///   T2   from an operator's start to its first launch, T3 from the end of its last one to its end, T5
///        between two, unless a call waited there; each less event_cost for every event within and less the
///        calls by which memory is allocated and freed, at least 0
///   T4   length of runtime calls that do not wait: no copies of pageable memory, none that found the launch
///        queue full (full_queue.hpp)
///   synchronize_return   from the end of the last work of the device to that of cudaStreamSynchronize, for
///                        calls of 20 us or more
///   backward_start       from aten::ones_like, which backward() calls last, to autograd's first operator;
///   backward_return      from its last one to the caller's next operator
///
/// @param event_cost what the profiler adds to the host's time for every operator and call
void add_samples(const kineto::RecordedTrace& trace, Seconds event_cost, HostSamples& samples);

}  // namespace lockstep
