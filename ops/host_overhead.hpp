#pragma once

/// @file
/// What the host spends around kernel launches: the T1-T5 of Lin et al. (arXiv 2201.07821, sec. III).

#include <map>
#include <string>
#include <string_view>

#include "base/units.hpp"

namespace lockstep {

/// Runtime calls whose own duration (T4) differs.
enum class RuntimeCall : std::uint8_t {
  LaunchKernel,
  MemcpyAsync,
  MemsetAsync,
  EventRecord,
  StreamWaitEvent,
  LaunchCollective,
  Synchronize,
};

/// Overheads of one operator.
struct OperatorOverhead {
  Seconds before_first_launch;  ///< T2
  Seconds after_last_launch;    ///< T3
  Seconds between_launches;     ///< T5
  Seconds without_launch;       ///< whole duration of the operator when it launches nothing
};

/// One host (CPU, Python and framework version) as measured.
struct HostOverheads {
  std::string name;
  std::string source;
  Seconds between_operators;                                       ///< T1
  OperatorOverhead fallback;                                       ///< operators not listed
  std::map<std::string, OperatorOverhead, std::less<>> operators;  ///< by PyTorch operator name
  std::map<RuntimeCall, Seconds> runtime_calls;                    ///< T4
  Seconds synchronize_return;  ///< from the awaited moment until the host goes on

  [[nodiscard]] const OperatorOverhead& of(std::string_view operator_name) const;
  [[nodiscard]] Seconds duration_of(RuntimeCall call) const;
};

}  // namespace lockstep
