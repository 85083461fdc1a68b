#include "search/embedding/step_simulator.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <set>

#include "search/embedding/refinement.hpp"
#include "search/sharding/small_changes.hpp"
#include "tests/support/small_dlrm.hpp"

namespace lockstep {
namespace {

/// Six tables on @p ranks GPUs of @p cluster.
ShardingProblem problem_on(const std::string& cluster, int ranks, const std::string& more = "") {
  return test::problem_of({.tables =
                               "{ rows: [100000, 70000], dimension: 128, pooling_factor: 40 }, "
                               "{ rows: [50000, 900], dimension: 32, pooling_factor: 90, index_skew: 1.5 }, "
                               "{ rows: [100, 100], dimension: 16, pooling_factor: 2 }",
                           .parallelism = "{ ranks: " + std::to_string(ranks) + " }",
                           .cluster = cluster,
                           .global_batch = 8192,
                           .more = more});
}

sharding::SearchOptions little() {
  sharding::SearchOptions options;
  options.effort = 2000;
  return options;
}

/// Every plan a small change of the one before.
std::vector<EmbeddingPlan> changing_plans(const ShardingProblem& problem, std::size_t count) {
  const Candidate start = candidate_by(sharding::method_called("size_greedy"), problem, little()).value();
  const sharding::ModelCosts costs = problem.costs(1);
  sharding::CachedCostModel cost_model{problem.task(), costs};
  sharding::DeviceState state{cost_model, start.pieces};
  sharding::SmallChanges changes{7, "step simulator", true};
  std::vector<EmbeddingPlan> plans{start.plan};
  while (plans.size() < count) {
    if (changes.make(state, state.slowest())) {
      plans.push_back(sharding::embedding_plan_of(state.plan(), start.split.placed, {}));
    }
  }
  return plans;
}

class KeepsWhatDoesNotChange : public ::testing::TestWithParam<const char*> {};

/// Whatever was simulated before, to the last bit what building and simulating anew gives.
TEST_P(KeepsWhatDoesNotChange, AndGivesTheSameStep) {
  const ShardingProblem problem = problem_on("dgx1v x 1", 4, GetParam());
  StepSimulator simulator{problem};
  std::vector<EmbeddingPlan> plans = changing_plans(problem, 40);
  plans.push_back(plans.front());
  for (const EmbeddingPlan& plan : plans) {
    ASSERT_EQ(simulator.step_time(plan), problem.step_time(plan));
  }
  const KnownKernels& kernels = simulator.kernels().front();
  EXPECT_LT(kernels.predicted(), kernels.asked() / 4);
  EXPECT_EQ(simulator.simulations(), plans.size());
}

INSTANTIATE_TEST_SUITE_P(Scenarios, KeepsWhatDoesNotChange,
                         ::testing::Values("",
                                           "vary: { kernels: lognormal 0.05, slow_ranks: [{ rank: 2, gpu: "
                                           "1.3 }] }\n",
                                           "network: alone\nsteps: 1\n"));

TEST(StepSimulator, SaysWhatDoesNotFitTheScenario) {
  const ShardingProblem problem = problem_on("dgx1v x 1", 4);
  EmbeddingPlan plan;
  TableShardingSpec& all = plan.tables.emplace_back();
  all.sharding = TableSharding::DataParallel;
  all.tables = {0, 1};  // of six
  StepSimulator simulator{problem};
  EXPECT_THROW((void)simulator.step_time(plan), InputError);
  all.tables = {0, 1, 2, 3, 4, 5};
  EXPECT_TRUE(simulator.step_time(plan));
}

/// The fast models' bound is below what they say of any plan, and the step is longer than that: it has more
/// in it.
TEST(ShardingBound, IsBelowEveryPlan) {
  for (const char* cluster : {"dgx1v x 1", "workstation_4gpu_pcie x 1"}) {
    const ShardingProblem problem = problem_on(cluster, 4);
    const sharding::ModelCosts costs = problem.costs(1);
    sharding::CachedCostModel cost_model{problem.task(), costs};
    const Seconds bound = costs.at_least(problem.task());
    for (const char* method : {"round_robin", "size_greedy", "torchrec", "neuroshard", "lockstep"}) {
      const Candidate candidate = candidate_by(sharding::method_called(method), problem, little()).value();
      EXPECT_LE(bound, cost_model.estimate(candidate.pieces).total) << cluster << method;
      EXPECT_LT(bound, problem.step_time(candidate.plan).value()) << cluster << method;
    }
  }
}

TEST(Refinement, IsNeverWorseAndDoesTheSameAgain) {
  const ShardingProblem problem = problem_on("dgx1v x 1", 4);
  StepSimulator simulator{problem};
  Candidate start = candidate_by(sharding::method_called("round_robin"), problem, little()).value();
  start.step = simulator.step_time(start.plan);
  RefinementOptions options;
  options.simulations = 60;
  const Candidate refined_once = refined(problem, simulator, start, options);
  EXPECT_LT(refined_once.step.value(), 0.98 * *start.step);  // round robin leaves much to gain
  EXPECT_EQ(problem.step_time(refined_once.plan), refined_once.step);
  EXPECT_TRUE(sharding::is_valid(refined_once.pieces, problem.task()));
  EXPECT_EQ(refined(problem, simulator, start, options).pieces, refined_once.pieces);
  options.stopped = [] { return true; };
  EXPECT_EQ(refined(problem, simulator, start, options).step, start.step);
}

/// Two nodes: some tables by rows of a node, each node with some where there are two.
TEST(PlacementSplits, OfSeveralNodesCutTablesByTheRowsOfANode) {
  const ShardingProblem problem = problem_on("dgx_a100 x 2", 16);
  StepSimulator simulator{problem};
  std::set<std::size_t> cut_by_node;
  for (const Candidate& candidate : our_candidates(problem, little())) {
    const auto is_by_node = [](const TableShardingSpec& entry) {
      return entry.sharding == TableSharding::TableRowWise;
    };
    if (std::ranges::none_of(candidate.plan.tables, is_by_node)) {
      continue;
    }
    std::size_t tables = 0;
    for (const TableShardingSpec& entry : candidate.plan.tables) {
      tables += is_by_node(entry) ? entry.tables.size() : 0;
    }
    cut_by_node.insert(tables);
    EXPECT_EQ(std::ranges::count_if(candidate.plan.tables, is_by_node), std::min<std::size_t>(2, tables))
        << candidate.name;
    EXPECT_TRUE(simulator.step_time(candidate.plan)) << candidate.name;
  }
  // A quarter, 2, half and 4 of six, the others cut by columns or not; all, and all but those that are
  // copied.
  EXPECT_EQ(cut_by_node, (std::set<std::size_t>{1, 2, 3, 4, 5, 6}));
}

TEST(PlacementSplits, OfOneNodeDoNot) {
  const ShardingProblem problem = problem_on("dgx1v x 1", 4);
  for (const PlacementSplit& split : splits(problem)) {
    EXPECT_THAT(split.name, ::testing::Not(::testing::HasSubstr("table-row-wise")));
  }
}

}  // namespace
}  // namespace lockstep
