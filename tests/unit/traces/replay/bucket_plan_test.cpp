#include "traces/replay/bucket_plan.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace lockstep::testing {
namespace {

using replay::BucketEdit;
using replay::BucketOrder;
using replay::plan_buckets;
using replay::PlannedGradient;
using Places = std::vector<std::size_t>;

const std::vector<PlannedGradient> kGradients{{0, 3}, {0, 5}, {1, 1}, {1, 8}, {1, 2}};

// A bucket is full once it holds 6 bytes or more: 3 + 5, 1 + 8, and what is left.
TEST(BucketPlan, GradientsJoinTheOpenBucketUntilItIsFull) {
  const auto plan = plan_buckets(kGradients, {Bytes{6}, {}, BucketOrder::Ready});
  ASSERT_EQ(plan.size(), 3U);
  EXPECT_EQ(plan[0].gradients, (Places{0, 1}));
  EXPECT_EQ(plan[0].bytes, 8);
  EXPECT_EQ(plan[1].gradients, (Places{2, 3}));
  EXPECT_EQ(plan[2].gradients, (Places{4}));
}

TEST(BucketPlan, TheFirstOneMayBeSmaller) {
  const auto plan = plan_buckets(kGradients, {Bytes{100}, Bytes{3}, BucketOrder::Ready});
  ASSERT_EQ(plan.size(), 2U);
  EXPECT_EQ(plan[0].gradients, (Places{0}));
  EXPECT_EQ(plan[1].bytes, 16);
}

TEST(BucketPlan, ReversedBeginsWithTheLastGradient) {
  const auto plan = plan_buckets(kGradients, {Bytes{6}, {}, BucketOrder::Reversed});
  ASSERT_EQ(plan.size(), 3U);
  EXPECT_EQ(plan[0].gradients, (Places{4, 3}));
  EXPECT_EQ(plan[1].gradients, (Places{2, 1}));
  EXPECT_EQ(plan[2].gradients, (Places{0}));
}

}  // namespace
}  // namespace lockstep::testing
