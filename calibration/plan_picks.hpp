#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "calibration/validate.hpp"

namespace lockstep {

/// How good a way of picking is, over all groups.
struct PickQuality {
  double exact = 0;        ///< share of groups in which the pick is the measured fastest
  double close = 0;        ///< share in which it is that or within PicksSpec::close of it
  double mean_regret = 0;  ///< measured time of the pick over that of the fastest, less 1
  double largest_regret = 0;
};

/// The cost of taking the point predicted fastest, in groups of points among which a user would choose.
struct PlanPicks {
  std::size_t groups = 0;  ///< of at least two points
  PickQuality ours;
  PickQuality chance;  ///< expected of one that picks any point of a group, all equally likely
  std::vector<std::string> worst_group;  ///< cells, by PicksSpec::within
};

/// std::nullopt where the set asks for no picks, or no group has two points. Of points that are predicted
/// equally fast the first of the table is picked.
[[nodiscard]] std::optional<PlanPicks> plan_picks(const Validation& validation);

/// A table of both ways and whether the aim is reached; "" where there are no picks.
[[nodiscard]] std::string plan_picks_text(const Validation& validation);

}  // namespace lockstep
