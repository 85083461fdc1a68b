#include "search/embedding/candidates.hpp"

#include <fmt/core.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <map>

#include "app/search/search_report.hpp"
#include "base/file.hpp"
#include "search/embedding/device_loads.hpp"
#include "search/embedding/left_out_plans.hpp"
#include "search/embedding/why_nothing_fits.hpp"
#include "tests/support/scratch_folder.hpp"
#include "tests/support/small_dlrm.hpp"
#include "tests/support/small_networks.hpp"

namespace lockstep {
namespace {

using ::testing::HasSubstr;

/// Four tables on two V100: 40 MB, 8 MB, 8 kB, 8 kB.
YamlDocument small_model(const std::string& embedding) {
  return test::document_of({.parallelism = "{ ranks: 2, embedding: " + embedding + " }"});
}

sharding::SearchOptions little() {
  sharding::SearchOptions options;
  options.effort = 2000;
  return options;
}

TEST(ShardingProblem, SimulatesThePlansItIsGiven) {
  const ShardingProblem problem{small_model("{}"), ConfigPath::standard()};
  EXPECT_EQ(problem.task().devices(), 2U);
  EXPECT_EQ(problem.task().tables.size(), 4U);
  const auto greedy = candidate_by(sharding::method_called("size_greedy"), problem, little());
  ASSERT_TRUE(greedy);
  // What `lockstep run` says of a scenario with the same planner.
  YamlDocument with_planner = small_model("{ planner: size_greedy }");
  const ResolvedScenario resolved = build(with_planner, ConfigPath::standard());
  EXPECT_EQ(problem.step_time(greedy->plan).value(),
            predict(resolved, nullptr, EngineMode::Bare).mean_step());
}

/// Pairs of a DGX-1V's GPUs share a link to the host: where all of a node have their part of a table, its
/// indices take longer than those of a GPU that has all of it alone, and no other node is in the way.
TEST(ShardingProblem, CopiesToANodesGpusShareItsLinks) {
  const ShardingProblem problem =
      test::problem_of({.parallelism = "{}", .cluster = "dgx1v x 2", .global_batch = 65536});
  const Exchanges exchanges = problem.exchanges_of_nodes();
  const sharding::ModelCosts alone = problem.costs(0), of_node = problem.costs_of_nodes(exchanges);
  const sharding::Table& table = problem.task().tables[0];
  EXPECT_GT(of_node.compute(of_node.load_of(table, 100, 0)),
            1.1 * alone.compute(alone.load_of(table, 100, 0)));
  const std::vector<Seconds> none(2);
  const std::vector<double> widths(2, 0), indices{10, 20};
  EXPECT_EQ(of_node.estimate(none, widths, indices).compute, none);
}

/// Four tables on two nodes: all by the rows of a node each, and those with the fewest rows for each look-up
/// copied beside the rest.
TEST(OurCandidates, HaveAllTablesByTheRowsOfNodes) {
  const ShardingProblem problem = test::problem_of(
      {.tables = "{ rows: [3000000], count: 3, dimension: 64, pooling_factor: 20 }, { rows: [1000], "
                 "dimension: 64, pooling_factor: 20 }",
       .parallelism = "{}",
       .cluster = "dgx_a100 x 2"});
  std::map<std::string, EmbeddingPlan> plans;
  for (const Candidate& candidate : our_candidates(problem, little())) {
    plans.emplace(candidate.name, candidate.plan);
  }
  ASSERT_TRUE(plans.contains("lockstep, all table-row-wise"));
  std::size_t tables = 0;
  for (const TableShardingSpec& entry : plans.at("lockstep, all table-row-wise").tables) {
    EXPECT_EQ(entry.sharding, TableSharding::TableRowWise);
    tables += entry.tables.size();
  }
  EXPECT_EQ(tables, 4U);
  ASSERT_TRUE(plans.contains("lockstep, 1 data-parallel, 3 table-row-wise"));
  const auto& mixed = plans.at("lockstep, 1 data-parallel, 3 table-row-wise").tables;
  const auto copied = std::ranges::find(mixed, TableSharding::DataParallel, &TableShardingSpec::sharding);
  ASSERT_NE(copied, mixed.end());
  EXPECT_EQ(copied->tables, std::vector<std::int64_t>{3});
}

/// 40 MB on a rank that has 27 MB for tables: no plan, and no error that ends a search.
TEST(ShardingProblem, APlanThatDoesNotFitHasNoTime) {
  const ShardingProblem roomy{small_model("{}"), ConfigPath::standard()};
  const auto plan = candidate_by(sharding::method_called("size_greedy"), roomy, little())->plan;
  const ShardingProblem tight{small_model("{ memory_share: 0.0008 }"), ConfigPath::standard()};
  EXPECT_TRUE(roomy.step_time(plan));
  EXPECT_FALSE(tight.step_time(plan));
}

TEST(ShardingProblem, LoadsAreThoseOfTheShards) {
  const ShardingProblem problem{small_model("{}"), ConfigPath::standard()};
  const auto plan = candidate_by(sharding::method_called("size_greedy"), problem, little())->plan;
  const std::vector<DeviceLoad> loads = device_loads(problem, plan);
  ASSERT_EQ(loads.size(), 2U);
  EXPECT_EQ(loads[0].memory, Bytes{4.0 * 100'000 * 100});
  EXPECT_EQ(loads[1].memory, Bytes{4.0 * (50'000 * 40 + 2 * 100 * 20)});
  // Forward a rank sends the other one's half of the batch of its 100 columns; backward the 80 of the other.
  EXPECT_EQ(loads[0].sent, Bytes{2048.0 * 4 * (100 + 80)});
  EXPECT_GT(loads[0].compute, loads[1].compute);
  EXPECT_THAT(load_picture(loads, "small"), HasSubstr("rank 1: 8.016 MB"));
}

/// Tables may fill all of a GPU's memory, as long as the step has to fit; else there is no end of it.
TEST(ShardingProblem, RoomWithoutRespectIsWhatTheGpuHas) {
  const auto room = [](const std::string& more) {
    return test::problem_of(
               {.parallelism = "{ ranks: 2, embedding: { respect_memory: false } }", .more = more})
        .task()
        .capacity.front();
  };
  const ShardingProblem usual = test::problem_of({});
  EXPECT_EQ(room(""), usual.resolved().gpu_models.front().usable());
  EXPECT_EQ(usual.task().capacity.front(), 0.8 * room(""));
  EXPECT_GT(room("memory: { check_capacity: false }\n"), 1e6 * room(""));
}

/// A table with many look-ups, alone on its GPU as long as the others have room for 64 of 1 GB with few: of
/// 34 GB each the rest of the step has too little then.
TEST(OurCandidates, KeepRoomForTheRestOfTheStep) {
  const ShardingProblem problem = test::problem_of(
      {.tables = "{ rows: [2000000], dimension: 128, pooling_factor: 300 }, { rows: [64000000], count: 64, "
                 "dimension: 4, pooling_factor: 0.1 }",
       .parallelism = "{ ranks: 3, embedding: { respect_memory: false } }",
       .global_batch = 4095,
       .model = "bottom_mlp_placement: first_rank, ",
       .more = "gpu: v100_32gb\n"});
  std::vector<std::string> names;
  for (const Candidate& candidate : our_candidates(problem, little())) {
    if (problem.has_memory_for(candidate.plan)) {
      names.push_back(candidate.name);
    }
  }
  EXPECT_THAT(names, ::testing::Contains("lockstep, 10 % of the room kept free"));
  EXPECT_THAT(names, ::testing::Not(::testing::Contains("lockstep")));
}

/// Where a table could go depends on what the others leave.
TEST(ShardingProblem, LoadsAreOfTheTablesThatThePlanNames) {
  const ShardingProblem problem{small_model("{}"), ConfigPath::standard()};
  EmbeddingPlan plan;
  TableShardingSpec& entry = plan.tables.emplace_back();
  entry.sharding = TableSharding::TableWise;
  entry.tables = {3, 1};
  entry.ranks = {1};
  const std::vector<DeviceLoad> loads = device_loads(problem, plan);
  EXPECT_EQ(loads[0].memory, Bytes{0});
  EXPECT_EQ(loads[0].shards, 0U);
  EXPECT_EQ(loads[1].memory, Bytes{4.0 * (50'000 * 40 + 100 * 20)});
}

TEST(OurCandidates, AreNeverWorseThanARuleAndAllFit) {
  const ShardingProblem problem{small_model("{}"), ConfigPath::standard()};
  SearchResult result;
  for (const sharding::Method& method : sharding::methods()) {
    if (auto candidate = candidate_by(method, problem, little())) {
      candidate->step = problem.step_time(candidate->plan);
      result.candidates.push_back(*std::move(candidate));
    }
  }
  for (Candidate& candidate : our_candidates(problem, little())) {
    candidate.step = problem.step_time(candidate.plan);
    ASSERT_TRUE(candidate.step) << candidate.name;
    result.candidates.push_back(std::move(candidate));
  }
  const Candidate* const best = result.best_of("lockstep");
  ASSERT_NE(best, nullptr);
  for (const Candidate& candidate : result.candidates) {
    EXPECT_LE(*best->step, candidate.step.value()) << candidate.name;
  }
  const std::string text = search_text(problem, result, *best);
  EXPECT_THAT(text, HasSubstr("best plan    " + best->name));
  EXPECT_THAT(text, HasSubstr("largest / mean"));
}

TEST(SearchText, CountsInWords) {
  const ShardingProblem problem = test::problem_of(
      {.tables = "{ rows: [100], dimension: 20, pooling_factor: 2 }", .parallelism = "{ ranks: 1 }"});
  Candidate only = candidate_by(sharding::method_called("round_robin"), problem, little()).value();
  only.step = problem.step_time(only.plan);
  EXPECT_THAT(search_text(problem, {{only}, {}, {}}, only), HasSubstr("  1 table on 1 GPU\n"));
}

/// Of a table with most look-ups, few columns and not the most rows, only rows can be shared by all GPUs.
TEST(OurCandidates, CutByRowsWhatCostsMost) {
  const ShardingProblem problem{
      YamlDocument::from_text("name: heavy\n"
                              "cluster: dgx_a100 x 1\n"
                              "workload:\n"
                              "  global_batch: 65536\n"
                              "  model:\n"
                              "    name: heavy\n"
                              "    source: by hand\n"
                              "    dlrm:\n"
                              "      bottom_mlp: [13, 64]\n"
                              "      top_mlp: [64, 1]\n"
                              "      interaction: cat\n"
                              "      tables:\n"
                              "        - { rows: [400000000], dimension: 4, pooling_factor: 1 }\n"
                              "        - { rows: [200000000], dimension: 4, pooling_factor: 400 }\n"
                              "        - { rows: [100, 100], dimension: 4, pooling_factor: 1 }\n"
                              "parallelism: { ranks: 4, embedding: { pipeline: sparse_dist } }\n",
                              "heavy.yaml"),
      ConfigPath::standard()};
  std::optional<Candidate> best;
  for (Candidate& candidate : our_candidates(problem, little())) {
    candidate.step = problem.step_time(candidate.plan);
    if (candidate.step && (!best || *candidate.step < *best->step)) {
      best = std::move(candidate);
    }
  }
  ASSERT_TRUE(best);
  EXPECT_THAT(best->name, HasSubstr("row-wise"));
  const auto is_cut = [](const TableShardingSpec& entry) {
    return entry.sharding == TableSharding::RowWise &&
           std::ranges::find(entry.tables, 1) != entry.tables.end();
  };
  EXPECT_TRUE(std::ranges::any_of(best->plan.tables, is_cut));
  const auto rule = candidate_by(sharding::method_called("torchrec"), problem, little());
  ASSERT_TRUE(rule);
  EXPECT_LT(*best->step, 0.8 * problem.step_time(rule->plan).value());
}

/// DCNv2 of MLPerf, whose tables HugeCTR cuts by rows of some GPUs or nodes: faster than whole tables, and
/// than the plan that NVIDIA submitted for one node (configs/plans/dcnv2_hugectr_n1_dp.yaml).
TEST(OurCandidates, CutHugeCtrsTablesByRows) {
  const auto best_on = [](int nodes) {
    const ShardingProblem problem{
        YamlDocument::from_text(fmt::format("name: x\ncluster: dgx_h100 x {}\nworkload: {{ model: "
                                            "dlrm_dcnv2_mlperf, global_batch: 65536, precision: fp16 }}\n",
                                            nodes),
                                "x.yaml"),
        ConfigPath::standard()};
    Seconds best{1};
    for (const Candidate& candidate : our_candidates(problem, little())) {
      const auto step = problem.step_time(candidate.plan);
      best = step ? std::min(best, *step) : best;
    }
    return best / Seconds{1e-3};
  };
  EXPECT_LT(best_on(1), 5.0);
  EXPECT_LT(best_on(2), 3.7);
}

/// Two tables with most of their rows used: cutting both by rows leaves nothing to place, and is the fastest.
TEST(OurCandidates, MayLeaveNothingToPlace) {
  const ShardingProblem problem =
      test::problem_of({.tables = "{ rows: [10000000, 1000000], dimension: 128, pooling_factor: 50 }",
                        .parallelism = "{}",
                        .cluster = "dgx_a100 x 1",
                        .global_batch = 16384});
  std::map<std::string, Seconds> steps;
  for (const Candidate& candidate : our_candidates(problem, little())) {
    EXPECT_TRUE(steps.emplace(candidate.name, problem.step_time(candidate.plan).value()).second)
        << candidate.name;
  }
  ASSERT_TRUE(steps.contains("lockstep, all row-wise"));
  EXPECT_TRUE(steps.contains("lockstep, 1 data-parallel, 1 row-wise"));
  EXPECT_FALSE(steps.contains("lockstep, all data-parallel"));  // 5.6 GB of gradients
  const auto fastest = std::ranges::min_element(steps, {}, [](const auto& entry) { return entry.second; });
  EXPECT_EQ(fastest->first, "lockstep, all row-wise");
}

TEST(OurCandidates, MayCopyAll) {
  const ShardingProblem problem{small_model("{}"), ConfigPath::standard()};
  const std::vector<Candidate> found = our_candidates(problem, little());
  const auto copied = std::ranges::find(found, "lockstep, all data-parallel", &Candidate::name);
  ASSERT_NE(copied, found.end());
  ASSERT_EQ(copied->plan.tables.size(), 1U);
  EXPECT_EQ(copied->plan.tables.front().tables.size(), 4U);
  EXPECT_EQ(copied->plan.tables.front().sharding, TableSharding::DataParallel);
}

TEST(OurCandidates, SpreadWhatFitsNowhere) {
  // 34 GB x 0.0008 = 27 MB on each of two ranks: the 40 MB of table 0 fit in two halves, and 100 columns have
  // none of a multiple of 4; with 34 GB x 0.0005 = 17 MB not even so, but a fifth of its rows in a cache.
  const auto best_with = [](const std::string& share) {
    const ShardingProblem problem{small_model("{ memory_share: " + share + " }"), ConfigPath::standard()};
    EXPECT_FALSE(candidate_by(sharding::method_called("size_greedy"), problem, little()));
    const std::vector<Candidate> ours = our_candidates(problem, little());
    EXPECT_FALSE(ours.empty());
    EXPECT_TRUE(!ours.empty() && problem.step_time(ours.front().plan));
    return ours.empty() ? TableShardingSpec{} : ours.front().plan.tables.back();
  };
  EXPECT_EQ(best_with("0.0008").sharding, TableSharding::RowWise);
  EXPECT_EQ(best_with("0.0008").kernel, TableKernel::Fused);
  EXPECT_EQ(best_with("0.0005").kernel, TableKernel::UvmCaching);
}

/// Fourteen tables of one look-up, on GPUs of which the first has the bottom MLP.
YamlDocument first_rank_model(int ranks, const std::string& embedding) {
  return YamlDocument::from_text(
      "name: first rank\n"
      "cluster: dgx1v x 1\n"
      "workload:\n"
      "  global_batch: 4096\n"
      "  model:\n"
      "    name: small\n"
      "    source: by hand\n"
      "    dlrm:\n"
      "      bottom_mlp: [13, 64]\n"
      "      top_mlp: [64, 1]\n"
      "      bottom_mlp_placement: first_rank\n"
      "      tables: [{ rows: [100000, 5000, 300, 20, 7000, 80000, 600], count: 2, dimension: 64 }]\n"
      "parallelism: { ranks: " +
          std::to_string(ranks) + ", embedding: " + embedding + " }\n",
      "first_rank.yaml");
}

/// Every plan of every method is one that the scenario runs with; with eight GPUs none has a table on the
/// first.
TEST(OurCandidates, KeepToWhatTheFirstRankAdmits) {
  for (const int ranks : {1, 4, 8}) {
    const ShardingProblem problem{first_rank_model(ranks, "{}"), ConfigPath::standard()};
    std::vector<Candidate> found = our_candidates(problem, little());
    EXPECT_FALSE(found.empty());
    for (const sharding::Method& method : sharding::methods()) {
      if (auto candidate = candidate_by(method, problem, little())) {
        found.push_back(*std::move(candidate));
      } else {
        ADD_FAILURE() << method.name << " has none on " << ranks;
      }
    }
    for (const Candidate& candidate : found) {
      EXPECT_TRUE(problem.step_time(candidate.plan)) << candidate.name;
      for (const TableShardingSpec& entry : candidate.plan.tables) {
        EXPECT_EQ(entry.sharding, TableSharding::TableWise) << candidate.name;
        EXPECT_TRUE(ranks <= 4 || entry.ranks.front() > 0) << candidate.name;
      }
    }
    EXPECT_EQ(left_out_plans(problem).size(), ranks > 4 ? 2U : 1U);
  }
}

TEST(OurCandidates, AreOfAllKindsWhereNothingForbidsThem) {
  const ShardingProblem problem{small_model("{}"), ConfigPath::standard()};
  EXPECT_TRUE(left_out_plans(problem).empty());
  EXPECT_EQ(why_not_in_host_memory(problem), "");
}

/// The room on the first of eight GPUs does not count, and what is refused is not advised.
TEST(ShardingProblem, SaysWhatDoesNotFitOnTheOtherRanks) {
  const ShardingProblem problem{first_rank_model(8, "{ memory_share: 0.0000001 }"), ConfigPath::standard()};
  EXPECT_TRUE(our_candidates(problem, little()).empty());
  EXPECT_EQ(
      why_nothing_fits(problem),
      "table 0 (100000 rows of 64 elements, 25.6 MB) fits on no GPU: a GPU has 3.409 kB for tables; "
      "bottom_mlp_placement: first_rank needs it whole; it cannot be in host memory: there the search cuts "
      "tables by rows");
}

/// NeuroShard asks networks for two devices in place of the fast models.
TEST(CandidateByNetworks, IsJudgedByThem) {
  const test::ScratchFolder folder;
  write_whole_file(folder.path() / "nets.txt", lockstep::testing::small_networks());
  const auto networks = sharding::NetworkCosts::from_file(folder.path() / "nets.txt");
  const ShardingProblem problem{small_model("{}"), ConfigPath::standard()};
  const auto candidate =
      candidate_by_networks(sharding::method_called("neuroshard"), problem, little(), networks);
  ASSERT_TRUE(candidate);
  EXPECT_TRUE(sharding::is_valid(candidate->pieces, problem.task()));
  EXPECT_THAT(candidate->remark, HasSubstr("judged by the networks: "));
  EXPECT_TRUE(problem.step_time(candidate->plan));
}

TEST(ShardingProblem, SaysWhatDoesNotFit) {
  const ShardingProblem problem{small_model("{ memory_share: 0.0000001 }"), ConfigPath::standard()};
  EXPECT_THAT(why_nothing_fits(problem),
              HasSubstr("table 0 (100000 rows of 100 elements, 40 MB) fits on no GPU"));
}

}  // namespace
}  // namespace lockstep
