#include "search/sharding/embedding_plans.hpp"

#include <gmock/gmock.h>

#include "base/yaml_reader.hpp"

namespace lockstep::sharding {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(EmbeddingPlans, WholeTablesAreTableWise) {
  const Plan plan{{{0, 16, 1}, {1, 8, 0}, {2, 8, 1}}};
  const EmbeddingPlan file = embedding_plan_of(plan, {5, 6, 7}, {});
  ASSERT_EQ(file.tables.size(), 2U);
  EXPECT_EQ(file.tables[1].sharding, TableSharding::TableWise);
  EXPECT_THAT(file.tables[1].tables, ElementsAre(5, 7));
  EXPECT_THAT(file.tables[1].ranks, ElementsAre(1));
}

TEST(EmbeddingPlans, PiecesBecomeEquallyWide) {
  // 64 on device 0, 32 on 1 and 32 on 2: four pieces of 32; the other table becomes column-wise, too.
  const Plan plan{{{0, 64, 0}, {0, 32, 1}, {0, 32, 2}, {1, 8, 2}}};
  const EmbeddingPlan file = embedding_plan_of(plan, {0, 1}, {});
  ASSERT_EQ(file.tables.size(), 2U);
  EXPECT_EQ(file.tables[0].sharding, TableSharding::ColumnWise);
  EXPECT_THAT(file.tables[0].ranks, ElementsAre(0, 0, 1, 2));
  EXPECT_EQ(file.tables[1].sharding, TableSharding::ColumnWise);
  EXPECT_THAT(file.tables[1].ranks, ElementsAre(2));
}

TEST(EmbeddingPlans, MayHaveWholeTablesApart) {
  const Plan plan{{{0, 32, 0}, {0, 32, 1}, {1, 8, 2}}};
  const EmbeddingPlan file = embedding_plan_of(plan, {0, 1}, {}, WholeTables::Apart);
  ASSERT_EQ(file.tables.size(), 2U);
  EXPECT_EQ(file.tables[0].sharding, TableSharding::TableWise);
  EXPECT_THAT(file.tables[0].tables, ElementsAre(1));
  EXPECT_EQ(file.tables[1].sharding, TableSharding::ColumnWise);
  EXPECT_THAT(file.tables[1].ranks, ElementsAre(0, 1));
}

/// Table 4 in three parts by rows, two of them on rank 1, and table 5 in two that are both on rank 0.
TEST(EmbeddingPlans, TablesOfOneNumberAreItsRows) {
  const Plan plan{{{0, 16, 1}, {1, 16, 1}, {2, 16, 2}, {3, 8, 0}, {4, 8, 0}, {5, 8, 0}}};
  const EmbeddingPlan file = embedding_plan_of(plan, {4, 4, 4, 5, 5, 6}, {});
  ASSERT_EQ(file.tables.size(), 2U);
  EXPECT_EQ(file.tables[0].sharding, TableSharding::TableWise);
  EXPECT_THAT(file.tables[0].tables, ElementsAre(5, 6));
  EXPECT_THAT(file.tables[0].ranks, ElementsAre(0));
  EXPECT_EQ(file.tables[1].sharding, TableSharding::RowWise);
  EXPECT_THAT(file.tables[1].tables, ElementsAre(4));
  EXPECT_THAT(file.tables[1].ranks, ElementsAre(1, 2));
}

TEST(EmbeddingPlans, ReadBackFromTheirOneLine) {
  EmbeddingPlan plan = embedding_plan_of({{{0, 16, 1}}}, {0}, {});
  TableShardingSpec& rows = plan.tables.emplace_back();
  rows.tables = {1};
  rows.sharding = TableSharding::TableRowWise;
  rows.node = 1;
  rows.kernel = TableKernel::UvmCaching;
  rows.cache_load_factor = 0.25;
  const auto read = read_text<EmbeddingPlan>(in_one_line(plan), "plan");
  EXPECT_EQ(plan_text(read, "x"), plan_text(plan, "x"));
  EXPECT_EQ(plan_text(read_text<EmbeddingPlan>(plan_text(plan, "x"), "plan"), "x"), plan_text(plan, "x"));
}

/// A rank for each shard, in their order (TorchRec's cw_sharding.py reads shard i for rank i); of what every
/// rank has, no shards (planner/planners.py, to_sharding_plan).
TEST(EmbeddingPlans, AreWrittenAsTorchRecHasThem) {
  EmbeddingPlan plan = embedding_plan_of({{{0, 8, 1}, {0, 8, 0}}}, {0}, {});
  TableShardingSpec& rows = plan.tables.emplace_back();
  rows.tables = {1};
  rows.sharding = TableSharding::RowWise;
  TableShardingSpec& copied = plan.tables.emplace_back();
  copied.tables = {2};
  copied.sharding = TableSharding::DataParallel;
  const std::string text = torchrec_json(plan, {{100, 16}, {5, 4}, {3, 4}}, {{0, 1}});
  EXPECT_THAT(text,
              HasSubstr(R"("sharding_type": "column_wise", "compute_kernel": "fused", "ranks": [1, 0])"));
  EXPECT_THAT(text,
              HasSubstr(R"("shard_offsets": [0, 8], "shard_sizes": [100, 8], "placement": "rank:0/cuda")"));
  // 5 rows on 2 ranks: blocks of 3, the last one shorter.
  EXPECT_THAT(text,
              HasSubstr(R"("shard_offsets": [3, 0], "shard_sizes": [2, 4], "placement": "rank:1/cuda")"));
  EXPECT_THAT(text, HasSubstr(R"("sharding_type": "data_parallel", "compute_kernel": "dense", "ranks": [0, 1],
      "sharding_spec": null)"));
  EXPECT_THAT(plan_json(plan),
              HasSubstr(R"({"table": 0, "sharding": "column_wise", "kernel": "fused", "ranks": [1, 0]})"));
}

}  // namespace
}  // namespace lockstep::sharding
