#include "search/embedding/learned_policy.hpp"

#include <gtest/gtest.h>

#include "base/error.hpp"
#include "search/embedding/candidates.hpp"
#include "tests/support/scratch_folder.hpp"
#include "tests/support/small_dlrm.hpp"

namespace lockstep {
namespace {

/// Five tables on two V100.
ShardingProblem five_tables() {
  return test::problem_of({.tables = "{ rows: [100000], dimension: 100, pooling_factor: 40 }, "
                                     "{ rows: [5000, 5000], dimension: 40, pooling_factor: 10 }, "
                                     "{ rows: [100, 100], dimension: 20, pooling_factor: 2 }"});
}

sharding::SearchOptions a_few_rounds() {
  sharding::SearchOptions options;
  const auto left = std::make_shared<int>(3);
  options.stopped = [left] { return --*left < 0; };
  return options;
}

TEST(LearnedPolicy, IsTrainedSavedAndUsed) {
  const test::ScratchFolder folder;
  const ShardingProblem problem = five_tables();
  for (const sharding::Method& method : sharding::learned_methods()) {
    EXPECT_TRUE(learns(method));
    const std::string file = folder / std::string{method.name};
    sharding::SearchOptions options = a_few_rounds();
    options.policy = policy_by_training(method, problem, options, {"", file}, Progress{true});
    const auto trained = candidate_by(method, problem, options);
    ASSERT_TRUE(trained);
    EXPECT_TRUE(problem.step_time(trained->plan));
    sharding::SearchOptions again;
    again.policy = policy_from_file({file, ""}, std::string{method.name});
    EXPECT_EQ(again.policy->scale().batch, 4096);
    EXPECT_EQ(sharding::plan_json(candidate_by(method, problem, again).value().plan),
              sharding::plan_json(trained->plan));
  }
  EXPECT_THROW((void)policy_from_file({folder / "autoshard", ""}, "dreamshard"), InputError);
}

TEST(LearnedPolicy, IsForMethodsThatLearn) {
  EXPECT_FALSE(learns(sharding::method_called("neuroshard")));
  EXPECT_EQ(policy_from_file({}, "neuroshard"), nullptr);
  EXPECT_EQ(policy_from_file({}, "all"), nullptr);
  EXPECT_THROW((void)policy_from_file({"", "file"}, "all"), std::invalid_argument);
  EXPECT_THROW((void)policy_from_file({"file", "file"}, "autoshard"), std::invalid_argument);
}

}  // namespace
}  // namespace lockstep
