#pragma once

#include <string>

#include "calibration/hosts/host_machine.hpp"
#include "ops/host_overhead.hpp"

namespace lockstep {

/// Words of a profile that is another's at other speeds.
struct DerivedHost {
  std::string name;
  std::string source;  ///< the machine
  std::string basis;   ///< of its speed
};

/// The profile as YAML: the numbers of @p start, a shipped host as measured (speed 1), at these speeds. What
/// is between operators is Python's, the rest compiled code's.
[[nodiscard]] std::string derived_host(const DerivedHost& words, const HostSpeed& speed,
                                       const HostOverheads& start);

}  // namespace lockstep
