#pragma once

#include <optional>
#include <string>
#include <vector>

#include "calibration/hosts/host_samples.hpp"

namespace lockstep {

/// The name of a new profile, and the data that it rests on.
struct HostProfileOptions {
  std::string name;
  std::string traces;      ///< in words, for `source`
  Seconds event_cost;      ///< already taken off the samples
  Seconds call_cost;       ///< that the profiler adds to the length of a runtime call
  HostOverheads start;     ///< what the traces do not show is taken from it, at its speed
  bool observed = false;   ///< more than times was recorded, which made them longer
  bool simulated = false;  ///< timelines of `lockstep run`: nothing in them was measured
  std::string observers;   ///< RecordedTrace::observers in words; empty: the traces name none
};

/// A runtime call that takes longer than the start's.
struct SlowCall {
  std::string key;    ///< runtime_calls.memcpy
  double factor = 1;  ///< on the start's
};

struct HostProfile {
  HostOverheads overheads;
  std::string text;                  ///< the YAML file, with numbers of samples and provenance
  std::vector<std::string> missing;  ///< keys taken from the start
  /// T2 and T3 over the start's: the median of the launching operators that both list; none: there are none.
  std::optional<double> slower;
  /// Calls that the traces show, but those of the allocator, which take what the driver has to do, that are
  /// longer by more than three times what operators are: did they wait? The longest first.
  std::vector<SlowCall> slow_calls;
};

/// Operators and T1: means without outliers (beyond the quartiles by more than 1.5 interquartile ranges);
/// runtime calls, returns and handing over: medians. A collective's launch takes as long as a kernel's. Parts
/// that an operator was never seen to have are those of the median operator (`fallback`), and guessed, as the
/// provenance of `operators.NAME` tells; one that no operator was seen to have is the start's. `spread`: of
/// an operator's calls without outliers, its parts taken as independent; of all operators weighed by their
/// calls' squared times (HostOverheads::spread). Operators seen once have none. Where observers made the
/// recorded times longer, or all was simulated, nothing is called measured, but derived.
/// @throws std::invalid_argument when the traces hold no operator that launches
[[nodiscard]] HostProfile host_profile(const HostSamples& samples, const HostProfileOptions& options);

}  // namespace lockstep
