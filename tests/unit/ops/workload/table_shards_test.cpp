#include "ops/workload/table_shards.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/yaml_reader.hpp"
#include "tests/support/embedding_job.hpp"

namespace lockstep {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const std::vector<EmbeddingTable> kTables{
    {.rows = 10, .dimension = 12, .pooling_factor = 5, .reuse_factor = 2},
    {.rows = 1000, .dimension = 8, .pooling_factor = 1, .reuse_factor = 0}};
const ShardStorage kStorage{.sharded = {}, .replicated = {.state = Bytes{4}}};

EmbeddingPlan plan_of(std::vector<TableShardingSpec> entries) {
  EmbeddingPlan plan;
  plan.tables = std::move(entries);
  return plan;
}

std::vector<ShardGroup> shards(const EmbeddingPlan& plan, const std::vector<int>& nodes,
                               Bytes memory = Bytes{1e9}) {
  const std::vector<Bytes> capacity(nodes.size(), memory);
  return shard_tables(kTables, plan, RankNodes{nodes.size(), nodes}, capacity, kStorage);
}

TEST(TableShards, ColumnsAreCutEvenly) {
  const auto groups = shards(plan_of({planned({0}, TableSharding::ColumnWise, {0, 2, 2}),
                                      planned({1}, TableSharding::TableWise, {1})}),
                             {0, 0, 0});
  ASSERT_EQ(groups.size(), 2U);
  EXPECT_EQ(groups[0].sharding, TableSharding::TableWise);  // in TorchRec's order, whatever the plan's
  EXPECT_THAT(groups[0].shards, ElementsAre(IsEmpty(), ElementsAre(kTables[1]), IsEmpty()));
  EmbeddingTable piece = kTables[0];
  piece.dimension = 4;
  EXPECT_THAT(groups[1].shards, ElementsAre(ElementsAre(piece), IsEmpty(), ElementsAre(piece, piece)));
  EXPECT_EQ(groups[1].width, 12);
}

/// 10 rows in blocks of ceil(10 / 4) = 3: 3, 3, 3, 1, and the lookups with them; 3 rows in blocks of 1 leave
/// one rank without any.
TEST(TableShards, RowsAreCutInBlocks) {
  const auto groups = shards(plan_of({planned({0, 1}, TableSharding::RowWise)}), {0, 0, 0, 0});
  std::vector<std::int64_t> rows;
  double lookups = 0;
  for (const auto& mine : groups.at(0).shards) {
    rows.push_back(mine.at(0).rows);
    lookups += mine.at(0).pooling_factor;
  }
  EXPECT_THAT(rows, ElementsAre(3, 3, 3, 1));
  EXPECT_DOUBLE_EQ(lookups, 5);
  EXPECT_EQ(groups[0].width, 20);
}

TEST(TableShards, RowsOfANodeStayThere) {
  const auto groups =
      shards(plan_of({planned_on_node({0}, 1), planned({1}, TableSharding::DataParallel)}), {7, 7, 9, 9});
  ASSERT_EQ(groups.size(), 2U);
  EXPECT_THAT(groups[0].shards[0], IsEmpty());
  EXPECT_EQ(groups[0].shards[3].at(0).rows, 5);
  EXPECT_THAT(groups[1].shards, ::testing::Each(ElementsAre(kTables[1])));
}

TEST(TableShards, EverythingWrongIsToldAtOnce) {
  const auto plan = read_text<EmbeddingPlan>(
      "tables:\n"
      "  - { tables: [0], sharding: column_wise, ranks: [0, 1, 2, 3, 4] }\n"
      "  - { tables: [5], sharding: table_row_wise, node: 1 }\n",
      "plan.yaml");
  try {
    (void)shards(plan, {0, 0});
    FAIL() << "the plan was taken";
  } catch (const InputError& error) {
    EXPECT_EQ(std::string{error.what()},
              "plan.yaml:2:5: there is no rank 2: the job has ranks 0 to 1\n"
              "plan.yaml:2:5: there is no rank 3: the job has ranks 0 to 1\n"
              "plan.yaml:2:5: there is no rank 4: the job has ranks 0 to 1\n"
              "plan.yaml:2:5: the 12 columns of table 0 cannot be cut into 5 equal pieces\n"
              "plan.yaml:3:5: there is no table 5: the model has tables 0 to 1\n"
              "plan.yaml:3:5: there is no node 1: the job has nodes 0 to 0\n"
              "plan.yaml:1:1: the plan says nothing of table 1; the model has 2 tables");
  }
}

TEST(TableShards, NodesOfUnequalSizeTakeNoTableRowWiseTables) {
  try {
    (void)shards(plan_of({planned_on_node({0, 1}, 1)}), {0, 0, 1});
    FAIL() << "the plan was taken";
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), HasSubstr("every node needs equally many ranks"));
  }
}

/// Table 0 has 120 elements, table 1 has 8000. Cut by rows over two ranks: 6 x ... 5 x 12 x 4 = 240 B and
/// 16000 B a rank; copied with its gradient: 64000 B.
TEST(TableShards, MemoryIsCounted) {
  const auto cut = plan_of({planned({0, 1}, TableSharding::RowWise)});
  EXPECT_NO_THROW((void)shards(cut, {0, 0}, Bytes{16240}));
  EXPECT_THROW((void)shards(cut, {0, 0}, Bytes{16239}), InputError);
  const auto copied =
      plan_of({planned({0}, TableSharding::RowWise), planned({1}, TableSharding::DataParallel)});
  EXPECT_NO_THROW((void)shards(copied, {0, 0}, Bytes{64240}));
  EXPECT_THROW((void)shards(copied, {0, 0}, Bytes{64239}), InputError);
}

TEST(EmbeddingPlan, ReadsBackAsWritten) {
  const auto plan = plan_of({planned({0, 3}, TableSharding::TableWise, {2}),
                             planned({1}, TableSharding::ColumnWise, {0, 1, 1}), planned_on_node({2}, 1),
                             planned({4}, TableSharding::DataParallel)});
  const std::string text = plan_text(plan, "by hand");
  EXPECT_THAT(text, HasSubstr("  - { tables: [1], sharding: column_wise, ranks: [0, 1, 1] }\n"));
  EXPECT_EQ(plan_text(read_text<EmbeddingPlan>(text, "plan.yaml"), "by hand"), text);
  EXPECT_EQ(plan_text(plan, "by\nhand"), text);  // a scenario may have a name of two lines
}

/// A planner's choice, given as a plan, is the same job.
TEST(EmbeddingPlan, APlannersPlanGivesThePlannersJob) {
  PlannedJob planned_job{.spec = tables_only({{.rows = {100, 2000, 300, 50, 7, 900}, .dimension = 8}}),
                         .plan = {}};
  EmbeddingPlanSpec planner;
  const std::vector<Bytes> memory(4, Bytes{1e9});
  planned_job.plan = embedding_plan(planned_job.spec, planner, memory).tables;
  const Job job = planned_job.job();
  EXPECT_EQ(planned_job.plan.size(), 4U);
  EXPECT_EQ(collectives_of(job, 0).size(), 3U);  // two exchanges and the MLPs' gradients
}

}  // namespace
}  // namespace lockstep
