#include "schedule/schedule_totals.hpp"

#include <gmock/gmock.h>

#include <stdexcept>
#include <vector>

namespace lockstep {
namespace {

// 1000, 3000 and 1000 steps of 10, 6.5 and 10 ms, with 2 and 3 s between them:
//   T   = 10 + 2 + 19.5 + 3 + 10 = 44.5 s,  T_d = 5000 x 10 ms = 50 s,  S_t = 1 - 44.5 / 50 = 0.11
//   S_f = 1 - (1000 + 3000 / 2 + 1000) / 5000 = 0.30
//   n*  = 2 s / 3.5 ms = 571.43 steps; steps get no shorter behind the second transition
TEST(ScheduleTotals, ThreePhasesByHand) {
  const std::vector<PhaseTime> phases{{1000, 0.010, 8, 0}, {3000, 0.0065, 4, 0}, {1000, 0.010, 8, 0}};
  const ScheduleTotals totals = schedule_totals(phases, std::vector{2.0, 3.0}, {5000, 0.010, 8, 0});
  EXPECT_NEAR(totals.seconds, 44.5, 1e-9);
  EXPECT_NEAR(totals.in_transitions, 5, 1e-9);
  EXPECT_NEAR(totals.dense_seconds, 50, 1e-9);
  EXPECT_NEAR(totals.time_saved(), 0.11, 1e-9);
  EXPECT_NEAR(totals.flops_saved(), 0.30, 1e-9);
  ASSERT_EQ(totals.transitions.size(), 2U);
  EXPECT_NEAR(totals.transitions[0].steps.value(), 2 / 0.0035, 1e-9);
  EXPECT_FALSE(totals.transitions[0].is_too_short);
  EXPECT_FALSE(totals.transitions[1].steps.has_value());
}

TEST(ScheduleTotals, APhaseThatIsShorterThanItsTransitionNeedsIsFlagged) {
  const std::vector<PhaseTime> phases{{1000, 0.010, 8, 0}, {500, 0.0065, 4, 0}};
  const ScheduleTotals totals = schedule_totals(phases, std::vector{2.0}, {1500, 0.010, 8, 0});
  EXPECT_TRUE(totals.transitions[0].is_too_short);  // 500 of 572 steps
}

TEST(ScheduleTotals, TheOrderOfPhasesDoesNotMatterWhereTransitionsAreAlike) {
  const std::vector<PhaseTime> one{{1000, 0.010, 8, 0}, {3000, 0.0065, 4, 0}, {700, 0.009, 6, 0}};
  const std::vector<PhaseTime> other{{700, 0.009, 6, 0}, {1000, 0.010, 8, 0}, {3000, 0.0065, 4, 0}};
  const std::vector<double> between{1.5, 1.5};
  const PhaseTime dense{4700, 0.010, 8, 0};
  EXPECT_EQ(schedule_totals(one, between, dense).seconds, schedule_totals(other, between, dense).seconds);
}

TEST(ScheduleTotals, EqualPhasesAreOneToTheLastBit) {
  const PhaseTime third{100, 0.1 / 3, 7, 0};
  const ScheduleTotals totals =
      schedule_totals(std::vector(7, third), std::vector(6, 0.0), {700, 0.1 / 3, 7, 0});
  EXPECT_EQ(totals.time_saved(), 0);
  EXPECT_EQ(totals.flops_saved(), 0);
}

TEST(ScheduleTotals, FirstStepsTakeLongerAsLongAsThereAreSteps) {
  EXPECT_DOUBLE_EQ(warm_up_seconds(std::vector{1.0, 0.5}, 10, 0.2), 0.3);
  EXPECT_DOUBLE_EQ(warm_up_seconds(std::vector{1.0, 0.5}, 1, 0.2), 0.2);
  EXPECT_DOUBLE_EQ(PhaseTime({10, 0.2, 0, 0.3}).seconds(), 2.3);
}

// Products are 40 % of a full step. Half of the steps do half of the products: 0.5 x 0.5 x 0.4 = 10 %.
TEST(ScheduleTotals, AmdahlsBoundIsWhatProductsAloneCouldSave) {
  const std::vector<PhaseTime> phases{{500, 0.009, 4, 0}, {500, 0.010, 8, 0}};
  EXPECT_NEAR(amdahl_bound(phases, {1000, 0.010, 8, 0}, 0.4), 0.10, 1e-12);
}

TEST(ScheduleTotals, ATransitionLiesBetweenTwoPhases) {
  const std::vector<PhaseTime> phases{{1, 1, 1, 0}};
  EXPECT_THROW((void)schedule_totals(phases, std::vector{1.0}, {1, 1, 1, 0}), std::logic_error);
}

}  // namespace
}  // namespace lockstep
