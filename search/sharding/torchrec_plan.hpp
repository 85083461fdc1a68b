#pragma once

#include <optional>

#include "search/sharding/method.hpp"

namespace lockstep::sharding {

/// The plan of TorchRec's planner (search/torchrec) on its default hardware, from table- and column-wise
/// shards in GPU memory: what a plan of pieces can say. Memory: that of the task, inputs and outputs of the
/// planner's estimate included; no further reservation.
[[nodiscard]] std::optional<Plan> torchrec_plan(CachedCostModel& cost_model, const SearchOptions& options);

}  // namespace lockstep::sharding
