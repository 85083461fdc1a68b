#include "calibration/plan_picks.hpp"

#include <gmock/gmock.h>

namespace lockstep {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

ValidationPoint point(const std::string& model, const std::string& plan, double measured, double predicted) {
  return {{model, plan}, {Seconds{measured}, Seconds{predicted}, {}, {}}, {}};
}

/// The second plan of model a is predicted fastest, which costs 2 %; the first of b, which costs 50 %. Model
/// c has one plan, and nothing to pick.
Validation two_models() {
  Validation validation;
  validation.columns = {"model", "plan"};
  validation.set.picks = PicksSpec{{"model"}, 0.03, 0.9};
  validation.points = {point("a", "1", 100, 7), point("a", "2", 102, 6), point("b", "1", 300, 1),
                       point("b", "2", 200, 2), point("b", "3", 400, 3), point("c", "1", 10, 1)};
  return validation;
}

TEST(PlanPicks, CountExactAndClosePicksAndTheirRegret) {
  const auto picks = plan_picks(two_models());
  ASSERT_TRUE(picks.has_value());
  EXPECT_EQ(picks->groups, 2U);
  EXPECT_DOUBLE_EQ(picks->ours.exact, 0);
  EXPECT_DOUBLE_EQ(picks->ours.close, 0.5);
  EXPECT_NEAR(picks->ours.mean_regret, (0.02 + 0.5) / 2, 1e-12);
  EXPECT_NEAR(picks->ours.largest_regret, 0.5, 1e-12);
  EXPECT_THAT(picks->worst_group, ElementsAre("b"));
}

/// Chance regrets 0 or 2 % for a, and 50 %, 0 or 100 % for b.
TEST(PlanPicks, StandBesideChance) {
  const PickQuality chance = plan_picks(two_models())->chance;
  EXPECT_NEAR(chance.exact, (1.0 / 2 + 1.0 / 3) / 2, 1e-12);
  EXPECT_NEAR(chance.close, (1.0 + 1.0 / 3) / 2, 1e-12);
  EXPECT_NEAR(chance.mean_regret, (0.01 + 0.5) / 2, 1e-12);
  EXPECT_NEAR(chance.largest_regret, 1, 1e-12);
}

TEST(PlanPicks, ArePrintedWithTheAim) {
  const std::string text = plan_picks_text(two_models());
  EXPECT_THAT(text, HasSubstr("same model; 2 of them"));
  EXPECT_THAT(text, HasSubstr("aim: within 3 % in 90 % of the groups: missed"));
  EXPECT_THAT(text, HasSubstr("largest: b"));
}

TEST(PlanPicks, AreNoneUnlessAskedFor) {
  Validation validation = two_models();
  validation.set.picks.reset();
  EXPECT_FALSE(plan_picks(validation).has_value());
  EXPECT_EQ(plan_picks_text(validation), "");
}

TEST(PicksSpec, HasColumnsAndAShare) {
  EXPECT_THROW(PicksSpec{}.check(), FieldError);
  EXPECT_THROW((PicksSpec{{"model"}, 0.03, 1.5}.check()), FieldError);
  EXPECT_THROW((PicksSpec{{"model"}, -1, {}}.check()), FieldError);
  EXPECT_NO_THROW((PicksSpec{{"model"}, 0, 1}.check()));
}

}  // namespace
}  // namespace lockstep
