#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "app/prediction.hpp"
#include "app/sensitivity.hpp"

namespace lockstep {

/// `1 rank`, `8 ranks`
[[nodiscard]] std::string plural(std::size_t count, const std::string& what);

/// A part of the mean step of the metered ranks.
struct TimeShare {
  /// `compute`, `exposed all_reduce`, `waiting in all_to_all`, `copies`, `done before others` (a rank's last
  /// work has ended, another's has not), `host-bound idle` (the rest)
  std::string what;
  double seconds = 0;
};

/// Where the time of a step went on the GPU: adds up to the step time. Mean over the metered ranks and all
/// steps.
[[nodiscard]] std::vector<TimeShare> time_shares(const Setting& setting, const SimulationResult& result);

/// Mean share of time that a link was used, in the order of use.
struct LinkUtilisation {
  std::string name;
  double bytes_per_step = 0;
  double utilisation = 0;  ///< of its bandwidth, over the whole run
};
[[nodiscard]] std::vector<LinkUtilisation> link_utilisation(const Setting& setting,
                                                            const SimulationResult& result);

/// One sentence: what bounds the step, and by how much.
[[nodiscard]] std::string bottleneck(const Setting& setting, const SimulationResult& result);

/// The one-screen answer: step time, bottleneck, where the time went, critical path, busiest links. The same
/// bytes for the same scenario.
/// @param sensitivity empty where it was not asked for: what 10 % more of each resource would buy
[[nodiscard]] std::string answer(const Setting& setting, const SimulationResult& result,
                                 const Sensitivity& sensitivity = {});

}  // namespace lockstep
