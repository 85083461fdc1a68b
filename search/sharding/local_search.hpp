#pragma once

#include <optional>

#include "search/sharding/method.hpp"

namespace lockstep::sharding {

/// Improves @p plan by small changes for as many questions as options.effort allows: a piece moves to another
/// device, two pieces of different devices change places, a piece is halved, two equal pieces of a table on
/// one device become one. A worse plan is kept for a while when it is worse by little (threshold accepting,
/// Dueck and Scheuer, Journal of Computational Physics 90, 1990), by ever less; what is returned is the best
/// that was seen, never worse than @p plan.
/// @pre the plan fits
[[nodiscard]] Plan improved(CachedCostModel& cost_model, Plan plan, const SearchOptions& options);

/// The best of all simple rules and NeuroShard's search, improved(): half of the effort is for whole tables,
/// half for cutting what is best then. Where all of them fail, tables are halved, the largest first, until
/// they fit.
[[nodiscard]] std::optional<Plan> lockstep_search(CachedCostModel& cost_model, const SearchOptions& options);

}  // namespace lockstep::sharding
