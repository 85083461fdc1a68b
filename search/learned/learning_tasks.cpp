#include "search/learned/learning_tasks.hpp"

#include <algorithm>
#include <utility>

namespace lockstep::sharding::learned {
namespace {

constexpr Seconds kLeastUnit{1e-9};

Seconds even_share(CachedCostModel& cost_model) {
  Load all;
  for (const Piece& piece : whole_tables(cost_model.task())) {
    all.add(cost_model.load_of(piece));
  }
  return cost_model.compute(all) / static_cast<double>(cost_model.task().devices());
}

Task some_tables(const Task& task, DrawSequence& draws) {
  Task drawn = task;
  const std::size_t least = (task.tables.size() + 1) / 2;
  const std::size_t count = least + draws.below(task.tables.size() - least + 1);
  for (std::size_t i = 0; i < count; ++i) {
    std::swap(drawn.tables[i], drawn.tables[i + draws.below(drawn.tables.size() - i)]);
  }
  drawn.tables.resize(count);
  return drawn;
}

}  // namespace

LearningTasks learning_tasks(std::span<const Task> tasks, const CostModel& costs) {
  std::vector<Matrix> raw;
  LearningTasks learning;
  Seconds sum;
  for (const Task& task : tasks) {
    raw.push_back(raw_features(task));
    learning.tasks.push_back({CachedCostModel{task, costs}, {}});
    sum += even_share(learning.tasks.back().cost_model);
  }
  learning.scale = {scale_of(raw), std::max(kLeastUnit, sum / static_cast<double>(tasks.size())),
                    tasks.front().batch};
  for (std::size_t i = 0; i < raw.size(); ++i) {
    learning.tasks[i].features = scaled(std::move(raw[i]), learning.scale.features);
  }
  return learning;
}

std::vector<Task> tasks_like(const Task& task, std::size_t count, std::uint64_t seed) {
  DrawSequence draws{seed, "tasks to learn from"};
  Task known = task;
  for (Table& table : known.tables) {
    table.reuse = reuse_of(table, task.batch);  // once, not in every task
  }
  std::vector<Task> tasks;
  for (std::size_t i = 0; i < count; ++i) {
    tasks.push_back(some_tables(known, draws));
  }
  return tasks;
}

}  // namespace lockstep::sharding::learned
