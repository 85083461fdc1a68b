#include "search/learned/placing.hpp"

#include <gtest/gtest.h>

#include "tests/support/sharding_tasks.hpp"

namespace lockstep::sharding::learned {
namespace {

using lockstep::testing::table;
using lockstep::testing::task;

TEST(Placing, KnowsWhoHasRoom) {
  // 400, 400 and 240 bytes on two devices of 600 each.
  const Task tables = task({table(25, 4, 1), table(25, 4, 1), table(15, 4, 1)}, 2, 600);
  Placing placing{tables};
  ASSERT_TRUE(placing.has_room(0));
  placing.put(0, 1);
  EXPECT_TRUE(placing.has_room(1));
  EXPECT_EQ(placing.room(), (std::vector<bool>{true, false}));
  EXPECT_NEAR(placing.filled(1), 400.0 / 600, 1e-12);
  placing.put(1, 0);
  EXPECT_FALSE(placing.has_room(2));
  EXPECT_NEAR(placing.lacking(2), 40.0 / 600, 1e-12);
  EXPECT_EQ(placing.plan().pieces[0], (Piece{0, 4, 1}));
}

TEST(Placing, TakesTheCostliestFirst) {
  EXPECT_EQ(costliest_first(Vector{{1, 3, 2, 3}}), (std::vector<std::uint32_t>{1, 3, 2, 0}));
}

}  // namespace
}  // namespace lockstep::sharding::learned
