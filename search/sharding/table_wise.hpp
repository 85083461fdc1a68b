#pragma once

#include <optional>
#include <vector>

#include "search/sharding/method.hpp"

namespace lockstep::sharding {

/// A plan and its cost.
struct CostedPlan {
  Plan plan;
  Seconds cost;
};

/// Puts given pieces on devices: NeuroShard's greedy grid search (neurosharder.py, _table_wise_shard). For
/// each of 11 limits s = 1.00, 1.05, ..., 1.50 on a device's width (s times the mean): pieces by their cost
/// alone, the most expensive first, each to the device whose lookups cost least so far among those with
/// memory and width for it; the best of the plans. Where a limit kept no piece from a device, wider ones give
/// the same plan and are left out.
/// @return nothing where no limit gives a plan that fits
[[nodiscard]] std::optional<CostedPlan> place_pieces(CachedCostModel& cost_model,
                                                     const std::vector<Piece>& pieces);

/// place_pieces() finds no place for whole tables, and with wide enough limits it would.
[[nodiscard]] bool only_width_is_in_the_way(CachedCostModel& cost_model);

/// place_pieces() of whole tables.
[[nodiscard]] std::optional<Plan> neuroshard_table_wise(CachedCostModel& cost_model,
                                                        const SearchOptions& options);

}  // namespace lockstep::sharding
