#include "ops/workload/placement.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lockstep {
namespace {

using namespace lockstep::literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

EmbeddingTable table(std::int64_t rows, std::int64_t dimension, double pooling) {
  return {.rows = rows, .dimension = dimension, .pooling_factor = pooling, .reuse_factor = 0};
}

const std::vector<Bytes> kTwoLarge{1_GB, 1_GB};

TEST(Placement, RoundRobinFollowsTheTableNumber) {
  const std::vector<EmbeddingTable> tables(5, table(10, 4, 1));
  EXPECT_THAT(place_tables(tables, kTwoLarge, EmbeddingPlanner::RoundRobin, TableStorage{}),
              ElementsAre(ElementsAre(0, 2, 4), ElementsAre(1, 3)));
}

TEST(Placement, GreedyBalancesItsOwnCost) {
  // Costs: size 1000, 4000, 8000, 8000; dimension 10, 40, 8, 80; lookup 1000, 40, 16, 160;
  // size-lookup = lookup x log10(rows): 2000, 80, 48, 320.
  const std::vector<EmbeddingTable> tables{table(100, 10, 100), table(100, 40, 1), table(1000, 8, 2),
                                           table(100, 80, 2)};
  // Size, largest first (equal ones in order): 2 -> 0, 3 -> 1, 1 -> 0 (tie, equal memory), 0 -> 1.
  EXPECT_THAT(place_tables(tables, kTwoLarge, EmbeddingPlanner::SizeGreedy, TableStorage{}),
              ElementsAre(ElementsAre(1, 2), ElementsAre(0, 3)));
  // Dimension: 3 -> 0, 1 -> 1, 0 -> 1, 2 -> 1 (80 against 50).
  EXPECT_THAT(place_tables(tables, kTwoLarge, EmbeddingPlanner::DimGreedy, TableStorage{}),
              ElementsAre(ElementsAre(3), ElementsAre(0, 1, 2)));
  // Lookups: 0 -> 0 (1000), then all others to 1 (216 together).
  EXPECT_THAT(place_tables(tables, kTwoLarge, EmbeddingPlanner::LookupGreedy, TableStorage{}),
              ElementsAre(ElementsAre(0), ElementsAre(1, 2, 3)));
  EXPECT_THAT(place_tables(tables, kTwoLarge, EmbeddingPlanner::SizeLookupGreedy, TableStorage{}),
              ElementsAre(ElementsAre(0), ElementsAre(1, 2, 3)));
}

TEST(Placement, SizeBucketsHoldEquallyManyTables) {
  // Size alone would put 1, 2 and 3 beside each other; a bucket has two places.
  const std::vector<EmbeddingTable> tables{table(1000, 4, 1), table(10, 4, 1), table(10, 4, 1),
                                           table(10, 4, 1)};
  EXPECT_THAT(place_tables(tables, kTwoLarge, EmbeddingPlanner::SizeGreedy, TableStorage{}),
              ElementsAre(ElementsAre(0), ElementsAre(1, 2, 3)));
  EXPECT_THAT(place_tables(tables, kTwoLarge, EmbeddingPlanner::SizeBuckets, TableStorage{}),
              ElementsAre(ElementsAre(0, 3), ElementsAre(1, 2)));
}

TEST(Placement, AFullGpuIsPassedOver) {
  // Table 1 would go to GPU 1 by lookups (cost 0), but only GPU 0 has 4000 B left.
  const std::vector<EmbeddingTable> tables{table(10, 10, 100), table(100, 10, 1)};
  EXPECT_THAT(
      place_tables(tables, std::vector<Bytes>{10_kB, 1_kB}, EmbeddingPlanner::LookupGreedy, TableStorage{}),
      ElementsAre(ElementsAre(0, 1), ElementsAre()));
}

TEST(Placement, ATableThatFitsNowhereIsNamed) {
  const std::vector<EmbeddingTable> tables{table(10, 10, 1), table(1000000, 100, 1)};
  EXPECT_THAT(
      [&] {
        (void)place_tables(tables, std::vector<Bytes>{1_MB, 2_MB}, EmbeddingPlanner::SizeGreedy,
                           TableStorage{});
      },
      ::testing::ThrowsMessage<std::invalid_argument>(HasSubstr(
          "embedding table 1 (1000000 rows of 100 elements, 400 MB) fits on no GPU; memory left for tables: "
          "GPU 0: 1 MB of 1 MB, GPU 1: 2 MB of 2 MB")));
}

TEST(Placement, RoundRobinNamesTheGpuItHadToUse) {
  const std::vector<EmbeddingTable> tables{table(10, 10, 1), table(1000000, 100, 1)};
  EXPECT_THAT(
      [&] {
        (void)place_tables(tables, std::vector<Bytes>{1_GB, 2_MB}, EmbeddingPlanner::RoundRobin,
                           TableStorage{});
      },
      ::testing::ThrowsMessage<std::invalid_argument>(
          HasSubstr("does not fit on GPU 1, to which round_robin gives it; memory left")));
}

}  // namespace
}  // namespace lockstep
