#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "search/learned/placement_policy.hpp"
#include "search/sharding/cached_cost_model.hpp"

namespace lockstep::sharding::learned {

/// A task that a policy learns from.
struct LearningTask {
  CachedCostModel cost_model;  ///< which measures
  Matrix features;             ///< scaled

  [[nodiscard]] const Task& task() const { return cost_model.task(); }
};

struct LearningTasks {
  PolicyScale scale;
  std::vector<LearningTask> tasks;
};

/// The tasks, which with the model must outlive them; the unit of costs is the mean of what a device's even
/// share of a task's lookups takes.
[[nodiscard]] LearningTasks learning_tasks(std::span<const Task> tasks, const CostModel& costs);

/// Tasks to learn from for @p task: for its devices, of half to all of its tables, drawn without replacement
/// as DreamShard's are.
[[nodiscard]] std::vector<Task> tasks_like(const Task& task, std::size_t count, std::uint64_t seed);

}  // namespace lockstep::sharding::learned
