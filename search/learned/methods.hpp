#pragma once

/// @file
/// AutoShard and DreamShard as search methods.

#include <optional>

#include "search/learned/training.hpp"
#include "search/sharding/method.hpp"

namespace lockstep::sharding::learned {

/// Tasks that a policy learns from before it is used.
inline constexpr std::size_t kLearningTasks = 50;

/// The policy of @p method, trained on tasks_like() @p task.
/// @pre the task has tables; the name of one of the two methods
[[nodiscard]] std::unique_ptr<PlacementPolicy> trained_for(std::string_view method, const Task& task,
                                                           const CostModel& costs,
                                                           const TrainingOptions& options);

/// The plan of options.policy; without one, of a policy that is trained_for() the task first.
/// @pre options.policy is of this method
[[nodiscard]] std::optional<Plan> autoshard(CachedCostModel& cost_model, const SearchOptions& options);
[[nodiscard]] std::optional<Plan> dreamshard(CachedCostModel& cost_model, const SearchOptions& options);

}  // namespace lockstep::sharding::learned
