#include "search/plans/plan_rivals.hpp"

#include <gtest/gtest.h>

namespace lockstep {
namespace {

TEST(PlanRivals, EnoughHaveToBeClearlyFasterAndNoLarger) {
  PlanRivals rivals{2};
  const std::size_t slow = rivals.add({2.0, 10, 8}), small = rivals.add({2.0, 3, 8}),
                    close = rivals.add({1.0 + PlanRivals::kClearly / 2, 10, 8});
  rivals.meet({1.0, 4, 8});
  EXPECT_FALSE(rivals.is_beaten(slow));
  rivals.meet({1.1, 10, 8});
  EXPECT_TRUE(rivals.is_beaten(slow));
  EXPECT_FALSE(rivals.is_beaten(small));
  EXPECT_FALSE(rivals.is_beaten(close));
}

TEST(PlanRivals, OthersAreOfOtherNumbersOfGpus) {
  PlanRivals rivals{1};
  const std::size_t on_few = rivals.add({2.0, 10, 4});
  rivals.meet({1.0, 4, 8});
  EXPECT_FALSE(rivals.is_beaten(on_few));
}

}  // namespace
}  // namespace lockstep
