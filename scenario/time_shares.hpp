#pragma once

/// @file
/// Parts of a step by the time that they take, and how busy links are.

#include <cstddef>
#include <limits>
#include <string_view>
#include <vector>

#include "ops/collectives/collective.hpp"
#include "scenario/resolved_scenario.hpp"
#include "sim/simulation.hpp"

namespace lockstep {

/// Parts of a step on a GPU.
enum class TimePart : std::uint8_t {
  Compute,
  Exposed,  ///< a collective's transfer while nothing is computed
  Waiting,  ///< for the others of a collective
  Copies,
  Done,      ///< the rank's last work has ended, another's has not
  HostIdle,  ///< the rest: the GPU has no work yet
};

/// A part of the mean step of the metered ranks.
struct TimeShare {
  TimePart part = TimePart::Compute;
  double seconds = 0;
  CollectiveKind collective{};  ///< of Exposed and Waiting

  [[nodiscard]] bool is_alike(const TimeShare& other) const {
    return part == other.part && collective == other.collective;
  }
};

/// Adds up to the step time. Mean over the metered ranks and all steps; parts of no time are left out.
[[nodiscard]] std::vector<TimeShare> time_shares(const ResolvedScenario& resolved,
                                                 const SimulationResult& result);

/// Time of a step in which at least one stream of the GPU is active, s; mean of the metered ranks.
[[nodiscard]] double gpu_busy_per_step(const SimulationResult& result, int steps);

/// Mean share of time that a link was used.
struct LinkUtilisation {
  LinkId link = 0;  ///< of the scenario's fabric
  double bytes_per_step = 0;
  double utilisation = 0;  ///< of its bandwidth, over the whole run
};
/// The busiest first, at most @p most of them. 100,000 ranks have 600,000 links.
[[nodiscard]] std::vector<LinkUtilisation> link_utilisation(
    const ResolvedScenario& resolved, const SimulationResult& result,
    std::size_t most = std::numeric_limits<std::size_t>::max());

}  // namespace lockstep
