#pragma once

#include <optional>

#include "search/sharding/method.hpp"

namespace lockstep::sharding {

/// The best placement of whole tables that was seen, and whether it is the best that there is.
struct ExactPlacement {
  std::optional<Plan> plan;  ///< nothing: none that fits was seen
  Seconds cost;
  bool is_proven = false;
};

/// Goes through all placements of whole tables, by depth-first search: tables in the order of their cost
/// alone, devices by what they have to do so far; of devices that are still empty and alike only the first is
/// tried; a branch ends where a device takes no less than the best plan does. Asks at most 100 x
/// options.effort questions, and now and then whether to stop. *Assumes* that another table never makes a
/// device faster.
[[nodiscard]] ExactPlacement exact_placement(CachedCostModel& cost_model, const SearchOptions& options);

/// Its plan, proven or not.
[[nodiscard]] std::optional<Plan> exact_table_wise(CachedCostModel& cost_model, const SearchOptions& options);

}  // namespace lockstep::sharding
