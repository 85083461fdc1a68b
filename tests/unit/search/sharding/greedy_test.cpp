#include "search/sharding/greedy.hpp"

#include <gmock/gmock.h>

#include "tests/support/sharding_tasks.hpp"

namespace lockstep::sharding {
namespace {

using lockstep::testing::table;
using lockstep::testing::task;
using ::testing::ElementsAre;

std::vector<std::uint32_t> devices_of(const std::optional<Plan>& plan) {
  std::vector<std::uint32_t> devices;
  for (const Piece& piece : plan.value().pieces) {
    devices.push_back(piece.device);
  }
  return devices;
}

const lockstep::testing::LinearCosts kCosts;

TEST(GreedySharding, SortsByItsKeyAndFillsTheLeast) {
  // rows, dimension, pooling factor; sizes 400, 3200, 1600, 1600 B
  const Task tables = task({table(10, 10, 8), table(100, 8, 1), table(100, 4, 10), table(50, 8, 3)}, 2);
  CachedCostModel cost_model{tables, kCosts};
  // Sizes give 1 | 3, 2 (equal sizes: the later table first); then both have 3200 B, and 0 goes to the lower
  // number.
  EXPECT_THAT(devices_of(size_greedy(cost_model, {})), ElementsAre(0, 0, 1, 1));
  // Keys 80, 8, 40, 24: 0 | 2, 3, 1 (64 and 72 after them).
  EXPECT_THAT(devices_of(lookup_greedy(cost_model, {})), ElementsAre(0, 1, 1, 1));
  // Dimensions 10, 8, 4, 8: 0 | 1; 3 to the second with 8 of 10; 2 to the first with 10 of 16.
  EXPECT_THAT(devices_of(dim_greedy(cost_model, {})), ElementsAre(0, 1, 0, 1));
  // Keys 80 log 10 = 80, 8 log 100 = 16, 40 log 100 = 80, 24 log 50 = 40.8: of 0 and 2 the larger first; 3 to
  // the one with less memory of the two, which is the second, and 1 to the first.
  EXPECT_THAT(devices_of(size_lookup_greedy(cost_model, {})), ElementsAre(1, 0, 0, 1));
  // Keys 8, 0.08, 0.4, 0.48.
  EXPECT_THAT(devices_of(norm_lookup_greedy(cost_model, {})), ElementsAre(0, 1, 1, 1));
}

TEST(GreedySharding, PassesOverDevicesThatAreFull) {
  // The first takes 1600 B of 2000 and then no other table of 800 B.
  const Task tables = task({table(100, 4, 1), table(50, 4, 9), table(50, 4, 9)}, 2, 2000);
  CachedCostModel cost_model{tables, kCosts};
  EXPECT_THAT(devices_of(size_greedy(cost_model, {})), ElementsAre(0, 1, 1));
}

TEST(GreedySharding, HasNoPlanWhereATableFitsNowhere) {
  const Task tables = task({table(100, 4, 1)}, 2, 1599);
  CachedCostModel cost_model{tables, kCosts};
  EXPECT_FALSE(size_greedy(cost_model, {}));
  EXPECT_FALSE(round_robin(cost_model, {}));
  EXPECT_FALSE(random_plan(cost_model, {}));
}

TEST(SimpleSharding, GoesRoundOrInRuns) {
  const Task tables = task(std::vector<Table>(5, table(10, 4, 1)), 2);
  CachedCostModel cost_model{tables, kCosts};
  EXPECT_THAT(devices_of(round_robin(cost_model, {})), ElementsAre(0, 1, 0, 1, 0));
  EXPECT_THAT(devices_of(chunks(cost_model, {})), ElementsAre(0, 0, 0, 1, 1));
}

}  // namespace
}  // namespace lockstep::sharding
