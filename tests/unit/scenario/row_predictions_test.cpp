#include "scenario/row_predictions.hpp"

#include <gtest/gtest.h>

namespace lockstep {
namespace {

ScenarioSettings row_of(const std::string& value) {
  return {{"workload.micro_batch", value}};
}

/// A row's time is its place among those that its process predicts.
std::vector<PredictedTimes> places(std::span<const ScenarioSettings> rows) {
  std::vector<PredictedTimes> times(rows.size());
  for (std::size_t place = 0; place < rows.size(); ++place) {
    times[place].step = Seconds{static_cast<double>(place)};
  }
  return times;
}

std::vector<Seconds> steps_of(std::span<const PredictedTimes> times) {
  std::vector<Seconds> steps;
  for (const PredictedTimes& each : times) {
    steps.push_back(each.step);
  }
  return steps;
}

/// A row that was measured three times has its one prediction in each of the three places.
TEST(RowPredictions, PredictEqualRowsOfASetOnce) {
  const std::vector rows{row_of("1"), row_of("2"), row_of("1"), row_of("3"), row_of("2"), row_of("1")};
  const std::vector others{row_of("3"), row_of("1")};
  const std::vector<RowSet> sets{{rows, places, 100}, {others, places, 100}};
  const auto times = predict_side_by_side(sets, 2);
  ASSERT_EQ(times.size(), 2U);
  EXPECT_EQ(steps_of(times[0]),
            (std::vector{Seconds{0}, Seconds{1}, Seconds{0}, Seconds{2}, Seconds{1}, Seconds{0}}));
  EXPECT_EQ(steps_of(times[1]), (std::vector{Seconds{0}, Seconds{1}}));
}

/// Tasks have so many unlike rows, however many equal ones lie between.
TEST(RowPredictions, DivideUnlikeRowsAmongProcesses) {
  const std::vector rows{row_of("1"), row_of("1"), row_of("1"), row_of("2"), row_of("3")};
  std::vector<std::size_t> ended;
  const auto times = predict_side_by_side(std::vector<RowSet>{{rows, places, 2}}, 1,
                                          [&](std::size_t set) { ended.push_back(set); });
  EXPECT_EQ(steps_of(times.front()),
            (std::vector{Seconds{0}, Seconds{0}, Seconds{0}, Seconds{1}, Seconds{0}}));
  EXPECT_EQ(ended, std::vector<std::size_t>{0});
}

}  // namespace
}  // namespace lockstep
