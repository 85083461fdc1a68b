#include <gmock/gmock.h>

#include <algorithm>

#include "search/embedding/candidates.hpp"
#include "search/embedding/host_tables.hpp"
#include "search/embedding/why_nothing_fits.hpp"

namespace lockstep {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

/// Tables of 128 elements with @p rows rows, each @p count times.
ShardingProblem problem_of_rows(const std::string& cluster, const std::string& rows,
                                const std::string& batch = "8192", int count = 1) {
  return {YamlDocument::from_text("name: large\n"
                                  "cluster: " +
                                      cluster +
                                      "\n"
                                      "workload:\n"
                                      "  global_batch: " +
                                      batch +
                                      "\n"
                                      "  model:\n"
                                      "    name: large\n"
                                      "    source: by hand\n"
                                      "    dlrm:\n"
                                      "      bottom_mlp: [13, 512, 64]\n"
                                      "      top_mlp: [512, 256, 1]\n"
                                      "      interaction: cat\n"
                                      "      tables: [{ rows: [" +
                                      rows + "], count: " + std::to_string(count) +
                                      ", dimension: 128, pooling_factor: 10 }]\n",
                                  "large.yaml"),
          ConfigPath::standard()};
}

/// @p tables of @p rows rows of 128 elements.
ShardingProblem problem_of(const std::string& cluster, int tables, const std::string& rows,
                           const std::string& batch) {
  return problem_of_rows(cluster, rows, batch, tables);
}

sharding::SearchOptions little() {
  sharding::SearchOptions options;
  options.effort = 500;
  return options;
}

/// The fastest of those that fit; none: infinite.
std::pair<Seconds, EmbeddingPlan> best_of(const ShardingProblem& problem) {
  std::pair<Seconds, EmbeddingPlan> best{Seconds{1e9}, {}};
  for (const Candidate& candidate : our_candidates(problem, little())) {
    const auto step = problem.step_time(candidate.plan);
    if (step && *step < best.first) {
      best = {*step, candidate.plan};
    }
  }
  return best;
}

std::vector<TableShardingSpec>::const_iterator in_host_memory_of(const EmbeddingPlan& plan) {
  return std::ranges::find_if(
      plan.tables, [](const TableShardingSpec& entry) { return entry.kernel != TableKernel::Fused; });
}

/// 102 GB on a GPU of 80, 80 % of it for tables: no table is left to be on it. 200 million rows of 512 bytes,
/// 4 for each row to find it by and 16 for each place: (0.8 x 84.99 - 0.8) GB are 0.636 of 105.6 GB.
TEST(LastResorts, AreInHostMemoryAllTablesIfNeedBe) {
  const auto [step, plan] = best_of(problem_of("single_a100_80gb x 1", 1, "200000000", "8192"));
  ASSERT_EQ(plan.tables.size(), 1U);
  EXPECT_EQ(plan.tables.front().kernel, TableKernel::UvmCaching);
  EXPECT_EQ(plan.tables.front().cache_load_factor, 0.636);
}

/// Eight tables of 34 GB fit on eight GPUs of 42 GB, and leave too little for 4 million samples: two of them
/// in host memory, and the others evenly on all GPUs. All of them there take three times as long.
TEST(LastResorts, LeaveRoomForTheStep) {
  const ShardingProblem problem = problem_of("dgx_a100 x 1", 8, "66000000", "4000000");
  const auto [step, plan] = best_of(problem);
  EXPECT_LT(step, Seconds{1});
  const auto in_host = std::ranges::find(plan.tables, TableKernel::UvmCaching, &TableShardingSpec::kernel);
  ASSERT_NE(in_host, plan.tables.end());
  EXPECT_EQ(in_host->tables.size(), 2U);
}

/// A table of 1.024 TB goes into the 1.1 TB of the host, one of 205 GB beside it does not: it is on the GPUs.
TEST(LastResorts, FillTheHostNoFurtherThanItGoes) {
  const ShardingProblem problem = problem_of_rows("dgx_a100 x 1", "2000000000, 5000000, 400000000");
  EXPECT_EQ(tables_for_hosts(problem), (std::vector<std::int64_t>{0, 1}));
  const auto [step, plan] = best_of(problem);
  EXPECT_LT(step, Seconds{1});
  const auto in_host = in_host_memory_of(plan);
  ASSERT_NE(in_host, plan.tables.end());
  EXPECT_EQ(in_host->tables, std::vector<std::int64_t>{0});
}

/// Of 41, 36 and 31 GB two have to leave two GPUs of 34 GB: not the largest, which has 30 look-ups of a
/// sample and they one each.
TEST(LastResorts, KeepWhatIsReadMostOnGpus) {
  const auto [step, plan] = best_of(ShardingProblem{
      YamlDocument::from_text("name: cold\ncluster: workstation_4gpu_pcie x 1\ngpu: v100_32gb\n"
                              "workload:\n  global_batch: 16384\n  model:\n    name: cold\n"
                              "    source: by hand\n    dlrm:\n      bottom_mlp: [13, 64]\n"
                              "      top_mlp: [64, 1]\n      interaction: cat\n      tables:\n"
                              "        - { rows: [80000000], dimension: 128, pooling_factor: 30 }\n"
                              "        - { rows: [70000000], dimension: 128, pooling_factor: 1 }\n"
                              "        - { rows: [60000000], dimension: 128, pooling_factor: 1 }\n"
                              "parallelism: { ranks: 2 }\n",
                              "cold.yaml"),
      ConfigPath::standard()});
  const auto in_host = in_host_memory_of(plan);
  ASSERT_NE(in_host, plan.tables.end());
  EXPECT_THAT(in_host->tables, ::testing::UnorderedElementsAre(1, 2));
}

/// A small batch needs few rows: where no cache has to be looked through the step is shorter.
TEST(LastResorts, DoWithoutACacheWhereTheBatchIsSmall) {
  const auto [step, plan] = best_of(problem_of("single_a100_80gb x 1", 1, "200000000", "512"));
  ASSERT_EQ(plan.tables.size(), 1U);
  EXPECT_EQ(plan.tables.front().kernel, TableKernel::Uvm);
}

/// Nodes share the rows of every table, so that two hosts take twice as much.
TEST(LastResorts, FillTheHostsOfAllNodes) {
  EXPECT_EQ(tables_for_hosts(problem_of_rows("dgx_a100 x 2", "2000000000, 1900000000, 400000000")),
            (std::vector<std::int64_t>{0, 1}));
}

TEST(WhyNothingFits, NamesWhatTheStepNeeds) {
  const ShardingProblem problem = problem_of("dgx_a100 x 1", 10, "1000000", "64000000");
  const std::vector<Candidate> made = our_candidates(problem, little());
  EXPECT_EQ(best_of(problem).first, Seconds{1e9});
  EXPECT_THAT(why_nothing_fits(problem, made),
              AllOf(HasSubstr("of rank 0's GPU (communication "), HasSubstr("a smaller global_batch"),
                    Not(HasSubstr("memory_share"))));
}

/// 20 TB: an eighth of its rows is too much, and so is a node's host memory: neither is advised.
TEST(WhyNothingFits, AdvisesNothingThatRunRefuses) {
  EXPECT_THAT(
      why_nothing_fits(problem_of("dgx_a100 x 1", 1, "40000000000", "8192")),
      AllOf(HasSubstr("or by the rows of all GPUs (2.56 TB each)"),
            HasSubstr("host memory, 1.1 TB, has room for no table"), Not(HasSubstr("sharding: row_wise"))));
  EXPECT_THAT(why_nothing_fits(problem_of("dgx_a100 x 1", 60, "50000000", "8192")),
              HasSubstr("at least 46 such GPUs would be needed; host memory, 1.1 TB, has room for 42 of the "
                        "60 tables (1.075 TB), the other 18 take 460.8 GB"));
}

/// One table for four GPUs: four times the mean width is on one of them.
TEST(WhyNoPlan, IsNeuroShardsLimitOfTheWidth) {
  const ShardingProblem problem = problem_of("dgx1v x 1", 1, "1000", "8192");
  const sharding::Method& whole = sharding::method_called("neuroshard_table_wise");
  EXPECT_FALSE(candidate_by(whole, problem, little()));
  EXPECT_THAT(why_no_plan(whole, problem), HasSubstr("1.5 times the mean"));
  EXPECT_EQ(why_no_plan(whole, problem_of("dgx1v x 1", 1, "40000000000", "8192")), "");
  EXPECT_EQ(why_no_plan(sharding::method_called("torchrec"), problem), "");
}

}  // namespace
}  // namespace lockstep
