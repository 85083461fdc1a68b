#include "calibration/measure/statistics.hpp"

#include <gtest/gtest.h>

#include <stdexcept>
#include <vector>

#include "calibration/measure/experiment.hpp"

namespace lockstep {
namespace {

std::vector<Seconds> seconds(const std::vector<double>& values) {
  std::vector<Seconds> times;
  for (const double value : values) {
    times.emplace_back(value);
  }
  return times;
}

TEST(Spread, IsOfOrderStatistics) {
  const Spread spread = spread_of(seconds({3, 1, 2, 5, 4, 7, 6, 9, 8, 100, 10}));
  EXPECT_EQ(spread.repeats, 11U);
  EXPECT_DOUBLE_EQ(spread.median.in_base_units(), 6);
  EXPECT_DOUBLE_EQ(spread.least.in_base_units(), 1);
  EXPECT_DOUBLE_EQ(spread.tenth.in_base_units(), 2);
  EXPECT_DOUBLE_EQ(spread.ninetieth.in_base_units(), 10);
}

TEST(Spread, ConfidenceIntervalIsBetweenTheRanksOfTheFormula) {
  std::vector<double> hundred;
  for (int i = 1; i <= 100; ++i) {
    hundred.push_back(i);
  }
  // n = 100: floor((100 - 19.6) / 2) = 40, ceil(1 + (100 + 19.6) / 2) = 61; median 50.5
  EXPECT_DOUBLE_EQ(spread_of(seconds(hundred)).median_error, (61 - 40) / 2.0 / 50.5);
}

TEST(Spread, OfFewRepeatsIsBetweenTheExtremes) {
  // n = 6: ranks floor(0.6) = 0, raised to 1, and ceil(6.4) = 7, lowered to 6
  EXPECT_DOUBLE_EQ(spread_of(seconds({10, 11, 12, 13, 14, 15})).median_error, 2.5 / 12.5);
}

TEST(Spread, OfNothingIsAMistake) {
  EXPECT_THROW(static_cast<void>(spread_of({})), std::logic_error);
}

TEST(StoppingRule, WantsSixRepeatsWhateverTheyTake) {
  const StoppingRule rule;
  EXPECT_FALSE(rule.is_met_by(seconds({10, 10, 10, 10, 10})));
  EXPECT_TRUE(rule.is_met_by(seconds({10, 10, 10, 10, 10, 10})));  // beyond the budget
}

TEST(StoppingRule, WantsTheMedianWhereRepeatsAreCheap) {
  const StoppingRule rule{.least = 20, .most = 400, .median_error = 0.01, .budget = Seconds{1}};
  EXPECT_FALSE(rule.is_met_by(std::vector<Seconds>(19, Seconds{1e-6})));
  EXPECT_TRUE(rule.is_met_by(std::vector<Seconds>(20, Seconds{1e-6})));
  std::vector<Seconds> scattered;
  while (scattered.size() < 399) {
    scattered.emplace_back(scattered.size() % 2 == 0 ? 1e-6 : 3e-6);
  }
  EXPECT_FALSE(rule.is_met_by(scattered));
  scattered.emplace_back(1e-6);
  EXPECT_TRUE(rule.is_met_by(scattered));  // as many as allowed
}

/// Says how often it was asked; each repeat takes longer than the one before.
class Counting final : public Experiment {
 public:
  std::vector<Seconds> repeat(std::size_t count) override {
    std::vector<Seconds> times;
    while (times.size() < count) {
      times.emplace_back(static_cast<double>(++asked_));
    }
    return times;
  }

 private:
  int asked_ = 0;
};

TEST(Repeated, LeavesOutTheWarmUp) {
  Counting experiment;
  const Spread spread =
      repeated(experiment, {.least = 6, .most = 6, .median_error = 0, .budget = Seconds{1e9}});
  EXPECT_EQ(spread.repeats, 6U);
  EXPECT_DOUBLE_EQ(spread.least.in_base_units(), 4);  // three went before
}

TEST(Repeated, NeverTakesMoreThanAllowed) {
  Counting experiment;
  EXPECT_EQ(repeated(experiment, {.least = 6, .most = 50, .median_error = 0, .budget = Seconds{1e9}}).repeats,
            50U);
}

}  // namespace
}  // namespace lockstep
