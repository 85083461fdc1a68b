#pragma once

#include <optional>

#include "search/sharding/method.hpp"

namespace lockstep::sharding {

/// The best of all placements of whole tables, by depth-first search: tables in the order of their cost
/// alone; of devices that are still empty and alike only the first is tried; a branch ends where a device
/// takes no less than the best plan does. Asks at most 100 x options.effort questions. *Assumes* that another
/// table never makes a device faster.
/// @return nothing where no placement fits, or where the questions were not enough to know the best
[[nodiscard]] std::optional<Plan> exact_table_wise(Judge& judge, const SearchOptions& options);

}  // namespace lockstep::sharding
