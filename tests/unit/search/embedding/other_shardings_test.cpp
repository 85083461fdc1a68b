#include "search/embedding/other_shardings.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <set>

#include "search/embedding/device_loads.hpp"
#include "search/embedding/movable_pieces.hpp"
#include "search/embedding/own_plan.hpp"
#include "tests/support/small_dlrm.hpp"

namespace lockstep {
namespace {

using ::testing::HasSubstr;

/// @param entries of the plan
test::SmallDlrm planned(const std::string& entries) {
  return {.parallelism = "{ ranks: 2, embedding: { plan: { tables: [" + entries + "] } } }"};
}

Candidate with_others(const ShardingProblem& problem, std::int64_t simulations = 200) {
  StepSimulator simulator{problem};
  const Candidate start = own_plan(problem, simulator).value();
  RefinementOptions options;
  options.simulations = simulations;
  Candidate best = with_other_shardings(problem, simulator, start, options);
  EXPECT_LE(*best.step, *start.step);
  EXPECT_EQ(best.step, problem.step_time(best.plan));
  return best;
}

const TableShardingSpec& entry_of(const EmbeddingPlan& plan, std::int64_t table) {
  return *std::ranges::find_if(plan.tables, [&](const TableShardingSpec& entry) {
    return std::ranges::count(entry.tables, table) > 0;
  });
}

/// Tables of a thousand rows, which every GPU may have: nothing to send but their gradients.
TEST(OtherShardings, CopyWhatIsSmall) {
  test::SmallDlrm of = planned(
      "{ tables: [0, 2], sharding: table_wise, ranks: [0] }, { tables: [1, 3], sharding: table_wise, "
      "ranks: [1] }");
  of.tables =
      "{ rows: [2000000, 2000000], dimension: 128, pooling_factor: 20 }, "
      "{ rows: [1000, 1000], dimension: 128, pooling_factor: 20 }";
  of.global_batch = 65536;
  const Candidate best = with_others(test::problem_of(of));
  const auto is_copied = [&](std::int64_t table) {
    return entry_of(best.plan, table).sharding == TableSharding::DataParallel;
  };
  EXPECT_TRUE(is_copied(2) || is_copied(3));
  EXPECT_FALSE(is_copied(0) || is_copied(1));
  EXPECT_THAT(best.name, HasSubstr(", 1 data-parallel, "));
}

/// Rows beside whole tables are two groups, of which each is looked up and exchanged by itself.
TEST(OtherShardings, MakeOneGroupOfFewTables) {
  const Candidate best = with_others(test::problem_of(planned(
      "{ tables: [0, 1], sharding: row_wise }, { tables: [2, 3], sharding: table_wise, ranks: [0] }")));
  EXPECT_EQ(best.name, "lockstep, 4 row-wise, refined further");
}

/// All on every GPU, 48 MB of gradients: nothing there is in pieces, until a table is.
TEST(OtherShardings, PlaceWhatWasCopied) {
  const ShardingProblem problem =
      test::problem_of(planned("{ tables: [0, 1, 2, 3], sharding: data_parallel }"));
  const Candidate best = with_others(problem);
  EXPECT_NE(entry_of(best.plan, 0).sharding, TableSharding::DataParallel);
  const auto [division, pieces] = in_pieces(problem, best.plan);
  EXPECT_EQ(best.pieces, pieces);
  EXPECT_EQ(best.division.placed, division.placed);
}

/// Room for all is on the GPUs.
TEST(OtherShardings, LeaveHostMemory) {
  const ShardingProblem problem = test::problem_of(
      planned("{ tables: [0, 1], sharding: row_wise, kernel: fused_uvm_caching, cache_load_factor: 0.1 }, "
              "{ tables: [2, 3], sharding: data_parallel }"));
  for (const TableShardingSpec& entry : with_others(problem).plan.tables) {
    EXPECT_EQ(entry.kernel, TableKernel::Fused);
  }
}

/// One table costs as much as its GPU can bear, and a node has nothing to do.
TEST(OtherShardings, CutByTheRowsOfTheNodeThatIsDoneFirst) {
  test::SmallDlrm of;
  of.cluster = "dgx_a100 x 2";
  of.global_batch = 65536;
  of.tables =
      "{ rows: [30000000], dimension: 128, pooling_factor: 60 }, { rows: [10000000], dimension: 128, "
      "pooling_factor: 20 }";
  of.parallelism =
      "{ embedding: { plan: { tables: [{ tables: [0], sharding: table_wise, ranks: [8] }, { tables: [1], "
      "sharding: table_row_wise, node: 1 }] } } }";
  const Candidate best = with_others(test::problem_of(of), 12);  // 3 of which are simulated
  EXPECT_EQ(entry_of(best.plan, 0).sharding, TableSharding::TableRowWise);
  EXPECT_EQ(entry_of(best.plan, 0).node, 0);
}

/// Two tables of 41 GB and memory for one: neither can move by itself, but that with 30 look-ups changes
/// places with that which has one, though this is the smaller.
TEST(OtherShardings, ExchangeATableInHostMemoryForAColderOne) {
  test::SmallDlrm of;
  of.cluster = "workstation_4gpu_pcie x 1";
  of.global_batch = 16384;
  of.model = "embedding_kernels: fbgemm, ";
  of.tables =
      "{ rows: [80000000], dimension: 128, pooling_factor: 30 }, { rows: [70000000], dimension: 128, "
      "pooling_factor: 1 }";
  of.parallelism =
      "{ ranks: 2, embedding: { plan: { tables: [{ tables: [1], sharding: column_wise, ranks: [0, 1] }, { "
      "tables: [0], sharding: row_wise, kernel: fused_uvm_caching, cache_load_factor: 0.1 }] } } }";
  of.more = "gpu: v100_32gb\n";
  const ShardingProblem problem = test::problem_of(of);
  StepSimulator simulator{problem};
  const Candidate start = own_plan(problem, simulator).value();
  const Candidate best = with_other_shardings(problem, simulator, start, {});
  EXPECT_EQ(entry_of(best.plan, 1).kernel, TableKernel::UvmCaching);
  EXPECT_EQ(entry_of(best.plan, 0).kernel, TableKernel::Fused);
  EXPECT_LT(*best.step, 0.5 * *start.step);
}

/// Four tables that GPUs have no room for: rows of each on all of them are fetched, looked up and exchanged
/// by themselves; whole ones go with those on the GPUs.
TEST(OtherShardings, TakeTablesInHostMemoryWhole) {
  test::SmallDlrm of;
  of.cluster = "workstation_4gpu_pcie x 1";
  of.global_batch = 4096;
  of.model = "embedding_kernels: fbgemm, ";
  of.tables =
      "{ rows: [50000000, 50000000, 50000000, 50000000], dimension: 64, pooling_factor: 1 }, { rows: "
      "[1000000], dimension: 64, pooling_factor: 5 }";
  of.parallelism =
      "{ ranks: 2, embedding: { plan: { tables: [{ tables: [4], sharding: column_wise, ranks: [0, 1] }, { "
      "tables: [0, 1, 2, 3], sharding: row_wise, kernel: fused_uvm }] } } }";
  of.more = "gpu: { from: v100_32gb, memory: 6 GiB }\n";
  const ShardingProblem problem = test::problem_of(of);
  StepSimulator simulator{problem};
  const Candidate start = own_plan(problem, simulator).value();
  const Candidate best = with_other_shardings(problem, simulator, start, {});
  std::set<std::int64_t> ranks;
  for (std::int64_t table = 0; table < 4; ++table) {
    EXPECT_EQ(entry_of(best.plan, table).kernel, TableKernel::Uvm);
    ASSERT_EQ(entry_of(best.plan, table).ranks.size(), 1U);
    ranks.insert(entry_of(best.plan, table).ranks.front());
  }
  EXPECT_EQ(ranks.size(), 2U);
  EXPECT_LT(*best.step, 0.97 * *start.step);
}

/// A table in host memory of which a GPU has room for the whole cache, but not for the whole beside the half
/// that it holds. By itself, so that no exchange of the cut ones waits for its rows.
TEST(OtherShardings, TakeATableInHostMemoryWholeWhereItsOwnRowsWere) {
  test::SmallDlrm of;
  of.cluster = "workstation_4gpu_pcie x 1";
  of.global_batch = 8192;
  of.model = "embedding_kernels: fbgemm, ";
  of.tables =
      "{ rows: [70000000], dimension: 128, pooling_factor: 0.5, index_skew: 3 }, { rows: "
      "[1000000, 1000000, 1000000], dimension: 128, pooling_factor: 20 }";
  of.parallelism =
      "{ ranks: 2, embedding: { memory_share: 0.9, plan: { tables: [{ tables: [1, 2, 3], sharding: "
      "column_wise, ranks: [0, 1] }, { tables: [0], sharding: row_wise, kernel: fused_uvm_caching, "
      "cache_load_factor: 0.5 }] } } }";
  of.more = "gpu: { from: v100_32gb, memory: 24 GiB }\n";
  const ShardingProblem problem = test::problem_of(of);
  const Bytes rows =
      device_loads(problem, problem.resolved().scenario.parallelism.embedding.plan->value).front().memory;
  ASSERT_GT(2.8 * rows, problem.task().capacity.front());  // nearly three halves
  const Candidate best = with_others(problem);
  const TableShardingSpec& entry = entry_of(best.plan, 0);
  EXPECT_EQ(entry.kernel, TableKernel::UvmCaching);
  EXPECT_EQ(entry.ranks.size(), 1U);
  EXPECT_EQ(entry.sharding, TableSharding::TableWise);
  EXPECT_TRUE(std::ranges::any_of(best.plan.tables, [](const TableShardingSpec& other) {
    return other.sharding == TableSharding::ColumnWise && other.ranks.size() == 2;
  }));
}

TEST(OtherShardings, SimulateAQuarterAtMost) {
  const ShardingProblem problem =
      test::problem_of(planned("{ tables: [0, 1, 2, 3], sharding: data_parallel }"));
  StepSimulator simulator{problem};
  const Candidate start = own_plan(problem, simulator).value();
  const std::uint64_t before = simulator.simulations();
  RefinementOptions options;
  options.simulations = 12;
  (void)with_other_shardings(problem, simulator, start, options);
  EXPECT_EQ(simulator.simulations() - before, 3U);
}

/// Where every table has to be whole there is no other.
TEST(OtherShardings, AreNotWhereTheFirstRankHasTheBottomMlp) {
  test::SmallDlrm of = planned("{ tables: [0, 1, 2, 3], sharding: table_wise, ranks: [0] }");
  of.model = "bottom_mlp_placement: first_rank, ";
  EXPECT_EQ(with_others(test::problem_of(of)).name, kOwnPlan);
}

/// One table in host memory, over PCIe: exchanges of whole tables by themselves go on beside it.
TEST(OtherShardings, HaveWholeTablesApart) {
  test::SmallDlrm of;
  of.cluster = "workstation_4gpu_pcie x 1";
  of.global_batch = 16384;
  of.more = "gpu: { from: titan_xp, usable_memory: 12 GiB }\n";
  of.tables =
      "{ rows: [150000000, 60000000, 5000000, 40000], dimension: 128, pooling_factor: 1 }, "
      "{ rows: [200000], count: 6, dimension: 128, pooling_factor: 10, index_skew: 2 }";
  of.parallelism =
      "{ embedding: { plan: { tables: [{ tables: [7], sharding: column_wise, ranks: [0] }, "
      "{ tables: [1], sharding: column_wise, ranks: [0, 1, 2, 3] }, "
      "{ tables: [4], sharding: column_wise, ranks: [0, 2] }, "
      "{ tables: [9], sharding: column_wise, ranks: [1] }, "
      "{ tables: [2, 3, 5], sharding: column_wise, ranks: [1, 3] }, "
      "{ tables: [8], sharding: column_wise, ranks: [2] }, "
      "{ tables: [6], sharding: column_wise, ranks: [3] }, { tables: [0], sharding: row_wise, kernel: "
      "fused_uvm_caching, cache_load_factor: 0.05 }] } } }";
  const Candidate best = with_others(test::problem_of(of));
  const auto has = [&](TableSharding sharding) {
    return std::ranges::count(best.plan.tables, sharding, &TableShardingSpec::sharding) > 0;
  };
  EXPECT_TRUE(has(TableSharding::TableWise));
  EXPECT_TRUE(has(TableSharding::ColumnWise));
  EXPECT_THAT(best.name, HasSubstr(" cached in host memory, "));
}

/// Two tables as large and read as often, one of which has popular rows: it wants less of the cache.
TEST(OtherShardings, GiveCacheToWhatItServes) {
  test::SmallDlrm of;
  of.cluster = "workstation_4gpu_pcie x 1";
  of.global_batch = 16384;
  of.model = "embedding_kernels: fbgemm, ";
  of.tables =
      "{ rows: [50000000], dimension: 128, pooling_factor: 10 }, { rows: [50000000], dimension: 128, "
      "pooling_factor: 10, index_skew: 3.2 }";
  of.parallelism =
      "{ ranks: 1, embedding: { plan: { tables: [{ tables: [0, 1], sharding: table_wise, ranks: [0], kernel: "
      "fused_uvm_caching, cache_load_factor: 0.1 }] } } }";
  of.more = "gpu: { from: v100_32gb, memory: 24 GiB }\n";
  const Candidate best = with_others(test::problem_of(of));
  const auto cached = [&](std::int64_t table) {
    return entry_of(best.plan, table).cache_load_factor.value_or(0);
  };
  EXPECT_GT(cached(0), 1.5 * cached(1));
  EXPECT_GT(cached(1), 0);
  EXPECT_THAT(best.name, HasSubstr("2 cached in host memory, refined"));
}

}  // namespace
}  // namespace lockstep
