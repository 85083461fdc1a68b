#include "search/embedding/cache_sizes.hpp"

#include <gtest/gtest.h>

#include "search/embedding/device_loads.hpp"
#include "search/embedding/own_plan.hpp"
#include "tests/support/small_dlrm.hpp"

namespace lockstep {
namespace {

/// Tables of 20.48 GB, two GPUs of 16 GiB of which 80 % are for tables: 13.74 GB each. A cache takes 4 bytes
/// a row and 528 a place. @param entries of a plan
ShardingProblem problem_with(const std::string& entries, const std::string& embedding = "") {
  test::SmallDlrm of;
  of.cluster = "workstation_4gpu_pcie x 1";
  of.model = "embedding_kernels: fbgemm, ";
  of.tables = "{ rows: [40000000], count: 3, dimension: 128, pooling_factor: 10 }";
  of.parallelism = "{ ranks: 2, embedding: { " + embedding + "plan: { tables: [" + entries + "] } } }";
  of.more = "gpu: { from: v100_32gb, memory: 16 GiB, usable_memory: 16 GiB }\n";
  return test::problem_of(of);
}

EmbeddingPlan plan_of(const ShardingProblem& problem) {
  return problem.resolved().scenario.parallelism.embedding.plan->value;
}

double factor(const EmbeddingPlan& plan, std::size_t entry) {
  return plan.tables[entry].cache_load_factor.value_or(TableShardingSpec::kCacheLoadFactor);
}

// Half of three tables' rows: (13.74 - 0.24) GB of 0.5 x 63.36.
TEST(CacheSizes, FillWhatIsLeft) {
  const ShardingProblem problem = problem_with(
      "{ tables: [0, 1, 2], sharding: row_wise, kernel: fused_uvm_caching, cache_load_factor: 0.05 }");
  const auto full = with_full_caches(problem, plan_of(problem));
  ASSERT_TRUE(full);
  EXPECT_NEAR(factor(*full, 0), 0.426, 1e-9);
  const Bytes most = problem.task().capacity[0];
  EXPECT_LE(table_memory(problem, *full)[0], most);
  EXPECT_GT(table_memory(problem, *full)[0], 0.997 * most);
  const EmbeddingPlan again = with_full_caches(problem, *full).value();
  EXPECT_EQ(sharding::in_one_line(again), sharding::in_one_line(*full));
}

// What is too large becomes smaller.
TEST(CacheSizes, GiveWay) {
  const ShardingProblem problem = problem_with(
      "{ tables: [0], sharding: row_wise }, { tables: [1, 2], sharding: row_wise, kernel: "
      "fused_uvm_caching, cache_load_factor: 0.01 }");
  EmbeddingPlan plan = plan_of(problem);
  plan.tables.back().cache_load_factor = 0.9;
  const auto full = with_full_caches(problem, plan);
  ASSERT_TRUE(full);
  EXPECT_LE(table_memory(problem, *full)[1], problem.task().capacity[1]);
  EXPECT_GT(factor(*full, 1), 0.1);
  EXPECT_LT(loads_without_caches(problem, plan)[1].memory, table_memory(problem, *full)[1]);
}

// Two tables on one GPU and one on the other, each whole: this one has twice the cache.
TEST(CacheSizes, AreOfEachGpu) {
  const ShardingProblem problem = problem_with(
      "{ tables: [0, 1], sharding: table_wise, ranks: [0], kernel: fused_uvm_caching, cache_load_factor: "
      "0.05 }, { tables: [2], sharding: table_wise, ranks: [1], kernel: fused_uvm_caching, "
      "cache_load_factor: 0.05 }");
  const auto full = with_full_caches(problem, plan_of(problem));
  ASSERT_TRUE(full);
  EXPECT_NEAR(factor(*full, 1) / factor(*full, 0), 2, 0.05);
  EXPECT_GT(table_memory(problem, *full)[1], 0.99 * problem.task().capacity[1]);
}

// One factor for all: what had more of the caches keeps it.
TEST(CacheSizes, KeepTheirShares) {
  const ShardingProblem problem = problem_with(
      "{ tables: [0], sharding: row_wise, kernel: fused_uvm_caching, cache_load_factor: 0.03 }, { tables: "
      "[1, "
      "2], sharding: row_wise, kernel: fused_uvm_caching, cache_load_factor: 0.01 }");
  const auto full = with_full_caches(problem, plan_of(problem));
  ASSERT_TRUE(full);
  EXPECT_NEAR(factor(*full, 0) / factor(*full, 1), 3, 0.02);
}

TEST(CacheSizes, OfAllRowsAreTablesOnGpus) {
  const ShardingProblem problem = problem_with(
      "{ tables: [0, 1], sharding: row_wise, kernel: fused_uvm }, { tables: [2], sharding: row_wise, kernel: "
      "fused_uvm_caching, cache_load_factor: 0.05 }");
  const EmbeddingPlan full = with_full_caches(problem, plan_of(problem)).value();
  EXPECT_EQ(full.tables[1].kernel, TableKernel::Fused);
  EXPECT_FALSE(full.tables[1].cache_load_factor);
  EXPECT_EQ(full.tables[0].kernel, TableKernel::Uvm);
}

TEST(CacheSizes, AreOfWhatIsCached) {
  const ShardingProblem problem =
      problem_with("{ tables: [0, 1, 2], sharding: row_wise, kernel: fused_uvm }");
  EXPECT_FALSE(has_cache(plan_of(problem)));
  EXPECT_FALSE(with_full_caches(problem, plan_of(problem)));
}

}  // namespace
}  // namespace lockstep
