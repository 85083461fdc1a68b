#include "calibration/residual_plot.hpp"

#include <gmock/gmock.h>

#include <stdexcept>
#include <string>

namespace lockstep {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

/// 10 ms to 1 s: two decades over 640 pixels from x = 70; y = 224 is a ratio of 1, in a height of 360.
ResidualPlot plot() {
  ResidualPlot plot;
  plot.title = "steps";
  plot.series = {"V100", "A100"};
  plot.residuals = {{0.01, 0.01, 0, false, "small"}, {0.1, 0.2, 1, true, "twice"}, {0.9, 0.9, 0, false, ""}};
  plot.band = 0.25;
  plot.band_meaning = "the band";
  plot.hollow_means = "hollow: outside";
  return plot;
}

TEST(ResidualPlot, BothAxesAreLogarithmic) {
  const std::string svg = to_svg(plot());
  EXPECT_THAT(svg, HasSubstr(R"(<circle cx="70.0" cy="224.0" r="3" fill="#0072b2")"));  // 10 ms, ratio 1
  // 100 ms is half way; twice as long is 1 / 1.08 of the way up: 224 - 180 / 1.08
  EXPECT_THAT(
      svg,
      HasSubstr(R"(<circle cx="390.0" cy="57.3" r="3" fill="none" fill-opacity="0.7" stroke="#e69f00")"));
}

TEST(ResidualPlot, TheBandIsWhereMeasuredTimesLie) {
  // measured = predicted (1 +- 0.25): ratios 1 / 1.25 to 1 / 0.75; in logarithms 0.2231 and 0.2877 of 1.08 ln
  // 2 224 - 180 x 0.2877 / 0.7486 = 154.8; 224 + 180 x 0.2231 / 0.7486 = 277.7
  EXPECT_THAT(to_svg(plot()),
              HasSubstr(R"(<rect x="70.0" y="154.8" width="640.0" height="122.8" fill="#e8eef4"/>)"));
}

TEST(ResidualPlot, TheLegendNamesAllSeriesByTheirMarks) {
  ResidualPlot many = plot();
  many.series.clear();
  for (std::size_t i = 0; i < 27; ++i) {
    many.series.push_back("series " + std::to_string(i));
  }
  const std::string svg = to_svg(many);
  EXPECT_THAT(svg, HasSubstr(">series 26</text>"));
  EXPECT_THAT(svg, HasSubstr("<polygon "));
  EXPECT_THAT(svg, Not(HasSubstr("more</text>")));
}

TEST(ResidualPlot, OfNothingOrOfTimesBelowZeroIsNone) {
  EXPECT_THROW(static_cast<void>(to_svg(ResidualPlot{})), std::invalid_argument);
  ResidualPlot wrong = plot();
  wrong.residuals[0].measured = 0;
  EXPECT_THROW(static_cast<void>(to_svg(wrong)), std::invalid_argument);
}

}  // namespace
}  // namespace lockstep
