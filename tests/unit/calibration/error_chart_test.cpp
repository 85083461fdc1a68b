#include "calibration/error_chart.hpp"

#include <gmock/gmock.h>

#include <stdexcept>

namespace lockstep {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// The axis is 420 pixels from x = 430, 1/2 at its left end and 2 at its right; the first row's middle is y =
// 58 + 27 / 2 - 2 = 69.5.
TEST(ErrorChart, the_axis_is_logarithmic) {
  const std::vector<ErrorChartRow> rows{{"one", "of one step", {1, 2, 0.5}}};
  const std::string svg = error_chart("Steps", rows);
  EXPECT_THAT(svg, HasSubstr(R"(<circle cx="640.0" cy="70.5")"));
  EXPECT_THAT(svg, HasSubstr(R"(<circle cx="850.0" cy="70.5")"));
  EXPECT_THAT(svg, HasSubstr(R"(<circle cx="430.0" cy="70.5")"));
  EXPECT_THAT(svg, HasSubstr(R"(<path d="M640.0 63.5 v14")"));  // the median
  EXPECT_THAT(svg, HasSubstr(">3, 50.0 %<"));                   // 0, 100 and 50 % off
}

// Percentiles of 0.5, 0.75 ... 1.5 (linear between the values): the 10th is 0.6, the 90th 1.4.
// 640 + 210 log2(0.6) = 485.2, 640 + 210 log2(1.4) = 741.9
TEST(ErrorChart, the_bar_is_from_the_tenth_to_the_ninetieth_percentile) {
  const std::vector<ErrorChartRow> rows{{"five", "", {0.5, 0.75, 1, 1.25, 1.5}}};
  EXPECT_THAT(error_chart("", rows), HasSubstr(R"(<rect x="485.2" y="65.5" width="256.7")"));
}

TEST(ErrorChart, what_is_beyond_the_axis_is_drawn_at_its_end) {
  const std::vector<ErrorChartRow> rows{{"far", "", {7, 0.01}}};
  const std::string svg = error_chart("", rows);
  EXPECT_THAT(svg, HasSubstr(R"(<circle cx="850.0")"));
  EXPECT_THAT(svg, HasSubstr(R"(<circle cx="430.0")"));
}

TEST(ErrorChart, many_points_are_a_bar_alone) {
  const std::vector<ErrorChartRow> rows{{"many", "", std::vector(1000, 1.0)}};
  EXPECT_THAT(error_chart("", rows), Not(HasSubstr("<circle")));
}

TEST(ErrorChart, a_long_title_ends_at_its_source_or_at_a_word) {
  const std::string most(85, 'x');
  const std::vector<ErrorChartRow> rows{{"long", most + " word more", {1}},
                                        {"cited", most + " (of 2026)", {1}}};
  EXPECT_THAT(error_chart("", rows), HasSubstr(most + " ...<"));
  EXPECT_THAT(error_chart("", rows), HasSubstr(most + "<"));
}

TEST(ErrorChart, of_nothing_is_none) {
  EXPECT_THROW((void)error_chart("", {}), std::invalid_argument);
  const std::vector<ErrorChartRow> empty{{"empty", "", {}}}, negative{{"negative", "", {-1}}};
  EXPECT_THROW((void)error_chart("", empty), std::invalid_argument);
  EXPECT_THROW((void)error_chart("", negative), std::invalid_argument);
}

// A set of steps has a row more where the GPU's busy time was measured.
TEST(ErrorChart, has_a_row_for_each_quantity_of_the_sets_of_its_kind) {
  using namespace literals;
  Validation steps, kernels;
  steps.set.name = "steps";
  steps.set.predicts = PredictedThing::Step;
  steps.set.measured.gpu_busy = "busy";
  steps.points = {{{}, {2_ms, 1_ms, {}, {}}, ComparedTime{1_ms, 3_ms, {}, {}}}};
  kernels.set.name = "kernels";
  kernels.set.predicts = PredictedThing::Kernel;
  kernels.points = {{{}, {2_ms, 4_ms, {}, {}}, {}}};
  const std::vector<Validation> both{steps, kernels};
  const auto rows = error_chart_rows(both, PredictedThing::Step);
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0].name + " and " + rows[1].name, "steps, GPU busy time and steps");
  EXPECT_EQ(rows[0].ratios, std::vector{3.0});
  EXPECT_EQ(rows[1].ratios, std::vector{0.5});
  EXPECT_EQ(error_chart_rows(both, PredictedThing::Kernel).at(0).ratios, std::vector{2.0});
  EXPECT_TRUE(error_chart_rows(both, PredictedThing::Collective).empty());
}

}  // namespace
}  // namespace lockstep
