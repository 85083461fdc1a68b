#include "search/learned/methods.hpp"

#include <cassert>

#include "search/learned/learning_tasks.hpp"

namespace lockstep::sharding::learned {
namespace {

std::optional<Plan> learned_plan(std::string_view method, CachedCostModel& cost_model,
                                 const SearchOptions& options) {
  const Task& task = cost_model.task();
  if (task.tables.empty()) {
    return Plan{};
  }
  if (options.policy) {
    assert(options.policy->method() == method);
    return options.policy->place(task);
  }
  TrainingOptions training;
  training.seed = options.seed;
  training.stopped = options.stopped;
  return trained_for(method, task, cost_model.model(), training)->place(task);
}

}  // namespace

std::unique_ptr<PlacementPolicy> trained_for(std::string_view method, const Task& task,
                                             const CostModel& costs, const TrainingOptions& options) {
  const std::vector<Task> tasks = tasks_like(task, kLearningTasks, options.seed);
  return method == "autoshard" ? train_autoshard(tasks, costs, options)
                               : train_dreamshard(tasks, costs, options);
}

std::optional<Plan> autoshard(CachedCostModel& cost_model, const SearchOptions& options) {
  return learned_plan("autoshard", cost_model, options);
}

std::optional<Plan> dreamshard(CachedCostModel& cost_model, const SearchOptions& options) {
  return learned_plan("dreamshard", cost_model, options);
}

}  // namespace lockstep::sharding::learned
