#include "search/learned/training.hpp"

#include <gtest/gtest.h>

#include "search/learned/learning_tasks.hpp"
#include "search/learned/methods.hpp"
#include "search/learned/weights_file.hpp"
#include "tests/support/sharding_tasks.hpp"

namespace lockstep::sharding::learned {
namespace {

using lockstep::testing::random_task;

const lockstep::testing::LinearCosts kCosts;

std::vector<Task> tasks_from(std::uint64_t first, std::size_t count) {
  std::vector<Task> tasks;
  for (std::size_t i = 0; i < count; ++i) {
    tasks.push_back(random_task(first + i, 8 + i % 5, 3, 1e9));
  }
  return tasks;
}

TrainingOptions rounds(int count) {
  TrainingOptions options;
  options.rounds = count;
  return options;
}

/// Mean cost of the plans, by that of random ones.
double by_random(const std::vector<Task>& tasks, const Method& method,
                 std::shared_ptr<const PlacementPolicy> policy) {
  double ours = 0, random = 0;
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    CachedCostModel cost_model{tasks[i], kCosts};
    SearchOptions options;
    options.policy = policy;
    options.seed = i;
    ours += cost_model.estimate(method.search(cost_model, options).value()).total / Seconds{1};
    random +=
        cost_model.estimate(method_called("random").search(cost_model, options).value()).total / Seconds{1};
  }
  return ours / random;
}

class EveryLearnedMethod : public ::testing::TestWithParam<Method> {
 protected:
  [[nodiscard]] static std::unique_ptr<PlacementPolicy> trained(const std::vector<Task>& tasks, int count) {
    return GetParam().name == "autoshard" ? train_autoshard(tasks, kCosts, rounds(count))
                                          : train_dreamshard(tasks, kCosts, rounds(count));
  }
};

TEST_P(EveryLearnedMethod, LearnsTheSameAgain) {
  const std::vector<Task> tasks = tasks_from(1, 3);
  EXPECT_EQ(weights_json(*trained(tasks, 1)), weights_json(*trained(tasks, 1)));
}

TEST_P(EveryLearnedMethod, LearnsOtherwiseWithAnotherSeed) {
  const std::vector<Task> tasks = tasks_from(1, 3);
  TrainingOptions other = rounds(1);
  other.seed = 2;
  const auto again = GetParam().name == "autoshard" ? train_autoshard(tasks, kCosts, other)
                                                    : train_dreamshard(tasks, kCosts, other);
  EXPECT_NE(weights_json(*trained(tasks, 1)), weights_json(*again));
}

TEST_P(EveryLearnedMethod, PlacesTablesItHasNotSeenBetterThanChance) {
  const std::vector<Task> tasks = tasks_from(1, 10);
  const std::vector<Task> others = tasks_from(1000, 20);  // random_task draws each seed's tables anew
  const bool is_autoshard = GetParam().name == "autoshard";
  std::shared_ptr<const PlacementPolicy> policy = trained(tasks, is_autoshard ? 60 : 6);
  EXPECT_LT(by_random(others, GetParam(), policy), 0.9);
}

TEST_P(EveryLearnedMethod, StopsWhenTold) {
  TrainingOptions options;
  int asked = 0;
  options.stopped = [&] { return ++asked > 1; };
  int done = 0;
  options.progress = [&](const TrainingProgress& now) { done = now.done; };
  const std::vector<Task> tasks = tasks_from(1, 2);
  const auto policy = GetParam().name == "autoshard" ? train_autoshard(tasks, kCosts, options)
                                                     : train_dreamshard(tasks, kCosts, options);
  EXPECT_LE(done, 1);
  EXPECT_TRUE(policy->place(tasks.front()));
}

TEST_P(EveryLearnedMethod, TrainsFirstWhereItWasGivenNoPolicy) {
  const Task task = random_task(5, 6, 2, 1e9);
  SearchOptions options;
  int left = 3;  // rounds or so
  options.stopped = [&] { return --left < 0; };
  CachedCostModel cost_model{task, kCosts};
  const auto plan = GetParam().search(cost_model, options);
  EXPECT_TRUE(plan && is_valid(*plan, task));
}

TEST_P(EveryLearnedMethod, SurvivesTasksWithoutRoom) {
  const std::vector<Task> tasks{lockstep::testing::task({lockstep::testing::table(1000, 4, 1)}, 2, 100)};
  EXPECT_FALSE(trained(tasks, 1)->place(tasks.front()));
}

INSTANTIATE_TEST_SUITE_P(Methods, EveryLearnedMethod,
                         ::testing::ValuesIn(learned_methods().begin(), learned_methods().end()),
                         [](const auto& method) { return std::string{method.param.name}; });

TEST(LearningTasks, AreOfHalfToAllOfTheTables) {
  const Task task = random_task(7, 9, 3, 1e6);
  const std::vector<Task> tasks = tasks_like(task, 200, 1);
  std::size_t least = 99, most = 0;
  for (const Task& drawn : tasks) {
    least = std::min(least, drawn.tables.size());
    most = std::max(most, drawn.tables.size());
    EXPECT_EQ(drawn.capacity, task.capacity);
  }
  EXPECT_EQ(least, 5U);
  EXPECT_EQ(most, 9U);
}

TEST(LearningTasks, CountInUnitsOfAnEvenShare) {
  // 8 x 10 + 4 x 5 lookups and 2 pieces: 102 ms on one device, 51 on each of two.
  const std::vector<Task> tasks{
      lockstep::testing::task({lockstep::testing::table(10, 8, 10), lockstep::testing::table(10, 4, 5)}, 2)};
  EXPECT_NEAR(learning_tasks(tasks, kCosts).scale.unit / Seconds{1e-3}, 51, 1e-9);
}

}  // namespace
}  // namespace lockstep::sharding::learned
