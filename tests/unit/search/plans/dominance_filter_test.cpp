#include "search/plans/dominance_filter.hpp"

#include <gtest/gtest.h>

namespace lockstep {
namespace {

TEST(DominanceFilter, EnoughHaveToBeClearlyFasterAndNoLarger) {
  DominanceFilter dominance{2};
  const std::size_t slow = dominance.add({2.0, 10, 8}), small = dominance.add({2.0, 3, 8}),
                    close = dominance.add({1.0 + DominanceFilter::kClearly / 2, 10, 8});
  dominance.meet({1.0, 4, 8});
  EXPECT_FALSE(dominance.is_beaten(slow));
  dominance.meet({1.1, 10, 8});
  EXPECT_TRUE(dominance.is_beaten(slow));
  EXPECT_FALSE(dominance.is_beaten(small));
  EXPECT_FALSE(dominance.is_beaten(close));
}

TEST(DominanceFilter, OthersAreOfOtherNumbersOfGpus) {
  DominanceFilter dominance{1};
  const std::size_t on_few = dominance.add({2.0, 10, 4});
  dominance.meet({1.0, 4, 8});
  EXPECT_FALSE(dominance.is_beaten(on_few));
}

}  // namespace
}  // namespace lockstep
