#include "search/sharding/divided_work.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace lockstep::sharding {
namespace {

using namespace lockstep::literals;

constexpr Seconds kNever{std::numeric_limits<double>::infinity()};

/// One machine each, jobs of 2, 2 and 4 s, and of 4, 4 and 2 s: two and one are 4 and 2 s; a third of a job
/// of the first given to the second, 10 / 3 s each.
TEST(DividedWork, IsDividedWhereItCostsLeast) {
  const DividedWork work =
      divided_work(std::vector<AlikeMachines>{{1, {2_s, 2_s, 4_s}}, {1, {4_s, 4_s, 2_s}}});
  EXPECT_NEAR(work.least / 1_s, 10.0 / 3, 1e-6);
  EXPECT_EQ(work.kind_of[2], 1U);
}

/// Three fast machines and two of half their speed do 8 s of work at 3 + 2 / 2 times the speed of a fast one.
TEST(DividedWork, SpeedsAddUp) {
  const DividedWork work = divided_work(std::vector<AlikeMachines>{{3, {5_s, 3_s}}, {2, {10_s, 6_s}}});
  EXPECT_NEAR(work.least / 1_s, 2, 1e-6);
}

/// Any prices are a bound for three kinds: here the speeds 1, 1/2 and 1/4 add up.
TEST(DividedWork, OfThreeKindsIsABound) {
  const DividedWork work = divided_work(std::vector<AlikeMachines>{{1, {7_s}}, {1, {14_s}}, {1, {28_s}}});
  EXPECT_LE(work.least / 1_s, 4 + 1e-6);
  EXPECT_GE(work.least / 1_s, 3.5);
}

TEST(DividedWork, OfAKindThatCannotDoAJobTheOthersDoIt) {
  const DividedWork work = divided_work(std::vector<AlikeMachines>{{1, {3_s, 1_s}}, {1, {kNever, 1_s}}});
  EXPECT_NEAR(work.least / 1_s, 3, 1e-6);
  EXPECT_EQ(work.kind_of[0], 0U);
  EXPECT_GT(divided_work(std::vector<AlikeMachines>{{1, {kNever}}, {2, {kNever}}}).least, 1e300 * 1_s);
}

TEST(DividedWork, OfOneKindIsSharedEqually) {
  EXPECT_NEAR(divided_work(std::vector<AlikeMachines>{{4, {5_s, 3_s}}}).least / 1_s, 2, 1e-12);
}

}  // namespace
}  // namespace lockstep::sharding
