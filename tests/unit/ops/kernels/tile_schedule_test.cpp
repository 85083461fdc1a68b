// Tiles under a causal mask, scheduled by hand.

#include "ops/kernels/tile_schedule.hpp"

#include <gtest/gtest.h>

namespace lockstep {
namespace {

// Two tiles of 50 and 150 columns a head, 20 columns once: 70 and 170. On two SMs: head 1 takes both
// until 70 and 170; head 2's short one goes to the first (140), the long one too (310), the mean being 240.
TEST(TileSchedule, long_tiles_are_left_over) {
  const RaggedTiles tiles{.heads = 2, .rows = 2, .columns = 100, .more = 100, .once = 20};
  EXPECT_NEAR(ragged_share(tiles, 2), 310.0 / 240, 1e-12);
}

TEST(TileSchedule, of_equal_tiles_is_that_of_whole_waves) {
  EXPECT_NEAR(ragged_share({.heads = 3, .rows = 1, .columns = 100}, 2), 2 / 1.5, 1e-12);
  EXPECT_NEAR(ragged_share({.heads = 1001, .rows = 1, .columns = 100}, 2), 501 / 500.5,
              1e-12);  // most of them not gone through
}

TEST(TileSchedule, fewer_tiles_than_sms_last_as_long_as_the_longest) {
  EXPECT_NEAR(ragged_share({.heads = 1, .rows = 4, .columns = 64, .more = 32}, 132), 112 / (4 * 64 / 132.0),
              1e-12);
}

// Queries of a part of a sequence, of which the first sees nearly as much as the last.
TEST(TileSchedule, differences_are_those_of_tiles) {
  const RaggedTiles tiles{.heads = 1, .rows = 2, .columns = 1000, .more = 128};
  EXPECT_NEAR(ragged_share(tiles, 2), 1064.0 / 1000, 1e-12);
  EXPECT_NEAR(ragged_share({.heads = 1, .rows = 2, .columns = 100, .more = 128}, 2), 150.0 / 100,
              1e-12);  // not below 0
}

// The rest is the same behind many heads, so that its share falls as their number grows.
TEST(TileSchedule, falls_with_the_number_of_heads) {
  const auto share = [](double heads) {
    return ragged_share({.heads = heads, .rows = 16, .columns = 1088, .more = 128, .once = 64}, 132);
  };
  EXPECT_NEAR(share(1000) - 1, (share(500) - 1) / 2, 1e-9);
  EXPECT_GT(share(48), 1.2);
}

}  // namespace
}  // namespace lockstep
