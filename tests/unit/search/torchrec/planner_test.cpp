#include "search/torchrec/planner.hpp"

#include <gmock/gmock.h>

namespace lockstep::torchrec {
namespace {

/// Bandwidths that are easy to divide by.
Topology round_topology() {
  Topology topology;
  topology.ranks = 2;
  topology.batch_per_rank = 10;
  topology.hbm = BytesPerSecond{1000};
  topology.within_host = BytesPerSecond{100};
  return topology;
}

Constraints only(Sharding sharding) {
  Constraints constraints;
  constraints.shardings = {sharding};
  constraints.kernels = {Kernel::Fused};
  constraints.optimizer = Optimizer::Sgd;
  return constraints;
}

const TableConfig kNarrow{.rows = 50, .columns = 32, .pooling_factor = 2};
const TableConfig kWide{.rows = 100, .columns = 128, .pooling_factor = 1};

TEST(TorchRecPlanner, RatesTwoTablesAsByHand) {
  const Topology topology = round_topology();
  const auto partition = plan({kNarrow, kWide}, only(Sharding::TableWise), {Bytes{1e9}, Bytes{0}}, topology);
  ASSERT_TRUE(partition);
  // Narrow: input 10 x 2 x 2 x 8 = 320, lookup 20 x 2 x 32 x 4 = 5120, output 10 x 2 x 32 x 4 = 2560 B;
  // 8000 B x 1.75 / 1000 = 14 s forward, 28 backward, 2 x 25.6 s of exchange: 93.2 s.
  // Wide: 160 + 10240 + 10240 = 20640 B: 20.64 + 41.28 + 2 x 102.4 = 266.72 s. One on each rank.
  EXPECT_NEAR(partition->rating() / Seconds{1}, 266.72, 1e-9);
  EXPECT_NE(partition->options[0].shards[0].rank, partition->options[1].shards[0].rank);
  const RankLoad& narrow = partition->ranks[static_cast<std::size_t>(partition->options[0].shards[0].rank)];
  EXPECT_NEAR(narrow.perf / Seconds{1}, 93.2, 1e-9);
  // 50 x 32 x 4 B of weights, inputs twice, output.
  EXPECT_NEAR(narrow.hbm / Bytes{1}, 6400 + 2 * 320 + 2560, 1e-9);
}

TEST(TorchRecPlanner, TakesTheFasterSharding) {
  Constraints both = only(Sharding::TableWise);
  both.shardings.push_back(Sharding::RowWise);
  // Row-wise, each rank: 80 + 5120 + 10240 = 15440 B: 15.44 + 30.88 + 2 x 102.4 + 2.455 x 10.24 = 276.26 s:
  // worse than 266.72 on one rank alone.
  const auto one = plan({kWide}, both, {Bytes{1e9}, Bytes{0}}, round_topology());
  ASSERT_TRUE(one);
  EXPECT_EQ(one->options[0].sharding, Sharding::TableWise);
  // 45 kB hold no table of 51.2 kB, but half of one.
  const auto tight = plan({kWide}, both, {Bytes{45'000}, Bytes{0}}, round_topology());
  ASSERT_TRUE(tight);
  EXPECT_EQ(tight->options[0].sharding, Sharding::RowWise);
  EXPECT_NEAR(tight->rating() / Seconds{1}, 15.44 + 30.88 + 204.8 + 2.455 * 10.24, 1e-9);
  EXPECT_FALSE(plan({kWide}, both, {Bytes{20'000}, Bytes{0}}, round_topology()));
}

TEST(TorchRecPlanner, CutsColumnsIntoTheSmallestBlocks) {
  const TableConfig table{.rows = 10, .columns = 768, .pooling_factor = 1};
  const auto options = enumerate(0, table, only(Sharding::ColumnWise), round_topology());
  ASSERT_EQ(options.size(), 1U);
  EXPECT_EQ(options[0].shards.size(), 6U);  // of 128
  EXPECT_TRUE(enumerate(0, kWide, only(Sharding::ColumnWise), round_topology()).empty());
}

TEST(TorchRecPlanner, ProposesInItsOrder) {
  Constraints both = only(Sharding::TableWise);
  both.shardings.push_back(Sharding::RowWise);
  SearchSpace space{enumerate(0, kNarrow, both, round_topology()),
                    enumerate(1, kWide, both, round_topology())};
  const Storage capacity{Bytes{1e9}, Bytes{0}};
  const auto sizes = [&](Proposer proposer) {
    return proposals(proposer, space, capacity, round_topology()).size();
  };
  EXPECT_EQ(sizes(Proposer::Greedy), 3U);  // two steps down
  EXPECT_EQ(sizes(Proposer::Uniform), 2U);
  EXPECT_EQ(sizes(Proposer::GridSearch), 4U);
  EXPECT_GE(sizes(Proposer::DynamicProgramming), 1U);
}

TEST(TorchRecPlanner, BalancesMemoryWhereTheRatingAllows) {
  // Four equal shards of perf and two ranks: two on each, whatever the limit.
  std::vector<ShardingOption> options;
  for (std::size_t table = 0; table < 4; ++table) {
    options.push_back(enumerate(table, kWide, only(Sharding::TableWise), round_topology()).front());
  }
  const auto partition = partition_by_memory(options, {Bytes{1e9}, Bytes{0}}, round_topology());
  ASSERT_TRUE(partition);
  EXPECT_EQ(partition->ranks[0].hbm, partition->ranks[1].hbm);
}

TEST(TorchRecPlanner, ReservesMemory) {
  Topology topology = round_topology();
  topology.hbm_capacity = Bytes{1e6};
  // 0.85 MB - 6 x 10 kB - 20 x (10 x 2 + 10 x 1) x 8 B
  const Reservation reservation{.dense_parameters = Bytes{10'000}};
  EXPECT_NEAR(reservation.left({kNarrow, kWide}, topology).hbm / Bytes{1}, 850'000 - 60'000 - 4800, 1e-6);
}

}  // namespace
}  // namespace lockstep::torchrec
