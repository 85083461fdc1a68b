#include "search/embedding/own_plan.hpp"

#include <gmock/gmock.h>

#include <map>

#include "app/search/search_report.hpp"
#include "search/embedding/movable_pieces.hpp"
#include "search/embedding/refinement.hpp"
#include "tests/support/small_dlrm.hpp"

namespace lockstep {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

/// Four tables on two V100, under @p plan.
ShardingProblem problem_with(const std::string& plan, const std::string& more = "") {
  return test::problem_of(
      {.parallelism = "{ ranks: 2, embedding: { " + more + "plan: { tables: [" + plan + "] } } }"});
}

TEST(OwnPlan, IsSimulatedAndReportedBesideTheBestRule) {
  const ShardingProblem problem = problem_with(
      "{ tables: [0], sharding: table_wise, ranks: [1] }, { tables: [1, 2, 3], sharding: table_wise, ranks: "
      "[0] }");
  StepSimulator simulator{problem};
  SearchResult result;
  result.candidates.push_back(own_plan(problem, simulator).value());
  EXPECT_EQ(result.own()->step, problem.step_time(result.own()->plan));
  EXPECT_EQ(result.best_rule(), nullptr);
  EXPECT_EQ(result.best_of("lockstep"), result.own());
  Candidate slower = result.candidates.front();
  slower.name = "size_greedy";
  slower.step = 2 * *slower.step;
  result.candidates.push_back(slower);
  const std::string text = search_text(problem, result, *result.own());
  EXPECT_THAT(text, HasSubstr("best plan    the scenario's own\n"));
  EXPECT_THAT(search_text(problem, result, *result.best_rule()), HasSubstr("own plan     "));
  EXPECT_THAT(search_text(problem, result, *result.best_rule()), HasSubstr(": -50.0 %"));
}

/// Everything on one GPU: moving what it holds is all that helps.
TEST(OwnPlan, IsRefined) {
  const ShardingProblem problem = problem_with("{ tables: [0, 1, 2, 3], sharding: table_wise, ranks: [0] }");
  StepSimulator simulator{problem};
  const std::vector<Candidate> own{own_plan(problem, simulator).value()};
  RefinementOptions options;
  options.simulations = 20;
  const std::vector<Candidate> refined = fastest_refined(problem, simulator, own, options);
  ASSERT_FALSE(refined.empty());
  EXPECT_EQ(refined.front().name, "lockstep, refined from the scenario's own");
  EXPECT_LT(*refined.front().step, *own.front().step);
}

TEST(OwnPlan, OfAnotherMachineOrTooBigSaysSo) {
  const ShardingProblem other = problem_with("{ tables: [0, 1, 2, 3], sharding: table_wise, ranks: [5] }");
  StepSimulator simulator{other};
  const Candidate own = own_plan(other, simulator).value();
  EXPECT_FALSE(own.step);
  EXPECT_THAT(own.why_no_step, StartsWith("does not fit the scenario: there is no rank 5"));
  const ShardingProblem tight =
      problem_with("{ tables: [0, 1, 2, 3], sharding: table_wise, ranks: [0] }", "memory_share: 0.0008, ");
  StepSimulator in_little{tight};
  EXPECT_EQ(own_plan(tight, in_little)->why_no_step, "needs more memory than there is");
}

std::map<std::int64_t, std::string> by_table(const EmbeddingPlan& plan) {
  std::map<std::int64_t, std::string> entries;
  for (TableShardingSpec entry : plan.tables) {
    const std::vector<std::int64_t> tables = entry.tables;
    entry.tables.clear();
    for (const std::int64_t table : tables) {
      entries[table] = entry_text(entry);
    }
  }
  return entries;
}

/// NVIDIA's own plan has rows of nodes and copies; its pieces say the same plan.
TEST(MovablePieces, OfNodesAreThePlan) {
  const ShardingProblem problem{
      YamlDocument::from_text("name: hugectr\ncluster: dgx_h100 x 8\nworkload: { model: dlrm_dcnv2_mlperf, "
                              "global_batch: 65536, precision: tf32 }\nparallelism: { embedding: { plan: "
                              "dcnv2_hugectr_n8_dp } }\n",
                              "hugectr.yaml"),
      ConfigPath::standard()};
  const EmbeddingPlan& plan = problem.resolved().scenario.parallelism.embedding.plan->value;
  const auto [division, pieces] = in_pieces(problem, plan);
  EXPECT_TRUE(division.by_nodes);
  EXPECT_EQ(pieces.pieces.size(), 10U + 4U);  // tables on one node; table 20 on four
  EXPECT_TRUE(sharding::is_valid(pieces, placed_task(problem, division)));
  EXPECT_EQ(by_table(plan_of(pieces, division)), by_table(plan));
}

TEST(MovablePieces, OfColumnsAreThePlan) {
  const ShardingProblem problem = problem_with(
      "{ tables: [0], sharding: column_wise, ranks: [0, 1] }, { tables: [1], sharding: column_wise, ranks: "
      "[1] "
      "}, { tables: [2], sharding: row_wise }, { tables: [3], sharding: data_parallel }");
  const EmbeddingPlan& plan = problem.resolved().scenario.parallelism.embedding.plan->value;
  const auto [division, pieces] = in_pieces(problem, plan);
  EXPECT_FALSE(division.by_nodes);
  EXPECT_EQ(pieces.pieces, (std::vector<sharding::Piece>{{0, 50, 0}, {0, 50, 1}, {1, 40, 1}}));
  EXPECT_EQ(by_table(plan_of(pieces, division)), by_table(plan));
}

/// Whole tables are exchanged by themselves, and go on to be.
TEST(MovablePieces, KeepWholeTablesApart) {
  const ShardingProblem problem = problem_with(
      "{ tables: [0], sharding: column_wise, ranks: [0, 1] }, { tables: [1, 2, 3], sharding: table_wise, "
      "ranks: [1] }");
  const EmbeddingPlan& plan = problem.resolved().scenario.parallelism.embedding.plan->value;
  const auto [division, pieces] = in_pieces(problem, plan);
  EXPECT_EQ(by_table(plan_of(pieces, division)), by_table(plan));
}

}  // namespace
}  // namespace lockstep
