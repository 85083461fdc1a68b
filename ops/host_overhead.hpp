#pragma once

/// @file
/// What the host spends around kernel launches: the T1-T5 of Lin et al. (arXiv 2201.07821, sec. III).

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "base/parameters.hpp"
#include "base/provenance.hpp"
#include "base/units.hpp"

namespace lockstep {

/// Runtime calls whose own duration (T4) differs. Malloc and Free are cudaMalloc and cudaFree of one segment
/// of PyTorch's caching allocator, which only `framework.empty_cache` makes in every step.
enum class RuntimeCall : std::uint8_t {
  LaunchKernel,
  MemcpyAsync,
  MemsetAsync,
  EventRecord,
  StreamWaitEvent,
  LaunchCollective,
  Synchronize,
  Malloc,
  Free,
};

constexpr auto names_of(RuntimeCall) {
  return std::to_array<EnumName<RuntimeCall>>({{RuntimeCall::LaunchKernel, "launch_kernel"},
                                               {RuntimeCall::MemcpyAsync, "memcpy"},
                                               {RuntimeCall::MemsetAsync, "memset"},
                                               {RuntimeCall::EventRecord, "event_record"},
                                               {RuntimeCall::StreamWaitEvent, "stream_wait_event"},
                                               {RuntimeCall::LaunchCollective, "launch_collective"},
                                               {RuntimeCall::Synchronize, "synchronize"},
                                               {RuntimeCall::Malloc, "malloc"},
                                               {RuntimeCall::Free, "free"}});
}

/// Overheads of one operator.
struct OperatorOverhead {
  Seconds before_first_launch;  ///< T2
  Seconds after_last_launch;    ///< T3
  Seconds between_launches;     ///< T5
  Seconds without_launch;       ///< whole duration of the operator when it launches nothing
  double spread = 0;            ///< standard deviation of its calls' host time over the mean; 0: not known

  template <class Visitor>
  static void describe(Visitor& key, OperatorOverhead& of) {
    key.required("before_first_launch", of.before_first_launch,
                 "T2: from its start to its first launch call");
    key.required("after_last_launch", of.after_last_launch, "T3: from its last launch call to its end");
    key.required("between_launches", of.between_launches, "T5: between two launch calls");
    key.required("without_launch", of.without_launch, "T5: its whole duration where it launches nothing");
    key.optional("spread", of.spread, 0,
                 "standard deviation of what a call costs, over the mean, e.g. 0.2; 0: not known");
  }
  /// @throws FieldError for a negative duration
  void check() const;
};

/// One host (CPU, Python and framework version) as measured.
struct HostOverheads {
  static constexpr const char* kConfigKind = "hosts";

  std::string name;
  std::string source;
  Seconds between_operators;  ///< T1
  /// T1 before an operator with which a module of Python begins (begins_a_module()), autograd's thread
  /// excepted; left out: as between_operators.
  std::optional<Seconds> between_module_operators;
  OperatorOverhead fallback;                                       ///< operators not listed
  std::map<std::string, OperatorOverhead, std::less<>> operators;  ///< by PyTorch operator name
  std::map<RuntimeCall, Seconds> runtime_calls;                    ///< T4
  Seconds synchronize_return;  ///< from the awaited moment until the host goes on
  Seconds backward_start;      ///< from the caller of backward() to autograd's thread, beyond T1
  Seconds backward_return;     ///< from there back to the caller, beyond T1
  /// Spread of the time of all operators, as one factor that makes a step vary as theirs do:
  /// sqrt(sum n (spread t)^2 / sum n t^2) over n calls of t each; 0: not known.
  double spread = 0;
  double speed = 1;  ///< of the CPU that is meant, over that of the measured one
  ProvenanceTable provenance;

  /// The same of a CPU `speed` times as fast: every time divided by it, and speed 1. *Assumes* that Python,
  /// the framework and the driver's calls scale alike, as with the clock of one processor.
  [[nodiscard]] HostOverheads at_speed() const;

  [[nodiscard]] Seconds between_modules() const {  ///< T1 before a module's first operator
    return between_module_operators.value_or(between_operators);
  }

  /// The overhead listed for the operator, else the fallback.
  [[nodiscard]] const OperatorOverhead& of(std::string_view operator_name) const;

  /// T4 of a call; of one that is not listed, that of a kernel launch (Malloc and Free must be listed).
  /// @throws std::out_of_range when not even that is listed
  [[nodiscard]] Seconds duration_of(RuntimeCall call) const;

  template <class Visitor>
  static void describe(Visitor& key, HostOverheads& host) {
    key.required("name", host.name, "identifier used by cluster files");
    key.required("source", host.source,
                 "where the figures come from and how the profiler's cost was removed");
    key.required("between_operators", host.between_operators, "T1: between two outermost operators");
    key.optional(
        "between_module_operators", host.between_module_operators, std::nullopt,
        "T1 before an operator with which a module of Python begins: a linear layer, a norm, a convolution, "
        "dropout, an embedding, pooling; between_operators when left out");
    key.required("runtime_calls", host.runtime_calls, "T4: duration of a runtime call, by kind");
    key.required("synchronize_return", host.synchronize_return,
                 "from the awaited moment until the host goes on");
    key.required("backward_start", host.backward_start,
                 "from the last operator before backward() to the first one of autograd's thread, beyond T1: "
                 "the call from Python, and a thread that wakes up");
    key.required("backward_return", host.backward_return,
                 "from the last operator of autograd's thread to the caller's next one, beyond T1");
    key.optional("spread", host.spread, 0,
                 "standard deviation of an operator's host time over its mean, all together: what 'vary: { "
                 "host: measured }' draws; 0: not known");
    key.optional("speed", host.speed, 1,
                 "of one core of the CPU that is meant, over that of the measured one: divides all times");
    key.required("fallback", host.fallback, "operators that are not listed");
    key.optional("operators", host.operators, {}, "by PyTorch's name, e.g. aten::linear");
    key.optional("provenance", host.provenance, {}, "where each of these numbers comes from, by its key");
  }
  /// @throws FieldError for a negative duration, a missing launch_kernel, a provenance of what is no
  /// parameter
  void check() const;
};

}  // namespace lockstep
