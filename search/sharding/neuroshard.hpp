#pragma once

#include <optional>

#include "search/sharding/table_wise.hpp"

namespace lockstep::sharding {

/// NeuroShard's search (Zha et al., arXiv 2305.01868; neurosharder.py): a beam over which tables are halved,
/// place_pieces() inside. 3 states, 10 levels; a state's candidates are its 10 largest pieces and the 10 that
/// cost most alone. The best plan of any level, no cut included. Asks options.stopped between levels.
[[nodiscard]] std::optional<Plan> neuroshard(CachedCostModel& cost_model, const SearchOptions& options);

}  // namespace lockstep::sharding
