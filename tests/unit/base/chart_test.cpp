#include "base/chart.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace lockstep {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<std::string> labels_of(const std::vector<ChartTick>& ticks) {
  std::vector<std::string> labels;
  for (const ChartTick& tick : ticks) {
    labels.push_back(tick.label);
  }
  return labels;
}

TEST(ChartScale, IsLinear) {
  const ChartScale scale{{10, 20}, {100, 300}};
  EXPECT_DOUBLE_EQ(scale.at(10), 100);
  EXPECT_DOUBLE_EQ(scale.at(15), 200);
  EXPECT_DOUBLE_EQ(scale.at(20), 300);
}

TEST(ChartScale, IsLogarithmic) {
  const ChartPanel panel{50, 20, 300, 200};
  const ChartScale scale = panel.across({1, 1000}, ChartScale::Spacing::Logarithmic);
  EXPECT_DOUBLE_EQ(scale.at(1), 50);
  EXPECT_DOUBLE_EQ(scale.at(10), 150);
  EXPECT_DOUBLE_EQ(scale.at(1000), 350);
}

TEST(ChartScale, GrowsUpwards) {
  const ChartScale scale = ChartPanel{50, 20, 300, 200}.upwards({0, 4});
  EXPECT_DOUBLE_EQ(scale.at(0), 220);
  EXPECT_DOUBLE_EQ(scale.at(4), 20);
}

TEST(AxisStep, IsRoundAndMakesAboutFive) {
  EXPECT_DOUBLE_EQ(axis_step(729), 200);
  EXPECT_DOUBLE_EQ(axis_step(5), 1);
  EXPECT_DOUBLE_EQ(axis_step(0.042), 0.01);
  EXPECT_DOUBLE_EQ(axis_step(0), 1);
}

TEST(RoundTicks, LieBetweenTheEnds) {
  EXPECT_THAT(labels_of(round_ticks({0, 0.3})),
              ElementsAre("0", "0.05", "0.1", "0.15", "0.2", "0.25", "0.3"));
  EXPECT_THAT(labels_of(round_ticks({31, 42}, "s")),
              ElementsAre("32 s", "34 s", "36 s", "38 s", "40 s", "42 s"));
  EXPECT_TRUE(round_ticks({0, 1}).front().is_strong);
}

TEST(ChartAxes, AreDrawnOnTheirSides) {
  const ChartPanel panel{50, 20, 300, 200};
  SvgDrawing svg;
  draw_axis(svg, panel, ChartSide::Left, panel.upwards({0, 4}), std::vector<ChartTick>{{2, "a<b"}});
  draw_axis(svg, panel, ChartSide::Bottom, panel.across({0, 3}), std::vector<ChartTick>{{1, "one", true}});
  draw_axis_name(svg, panel, ChartSide::Bottom, "time, s");
  const std::string picture = svg.document(400, 300, 12);
  EXPECT_THAT(picture, HasSubstr(R"(<path d="M50.0 120.0 H350.0" stroke="#dddddd"/>)"));
  EXPECT_THAT(picture, HasSubstr(R"(text-anchor="end">a&lt;b</text>)"));
  EXPECT_THAT(picture, HasSubstr(R"(<path d="M150.0 20.0 V220.0" stroke="#444444"/>)"));
  EXPECT_THAT(picture,
              HasSubstr(R"(<text x="350.0" y="258.0" text-anchor="end" fill="#444444">time, s</text>)"));
}

TEST(ChartLegend, SaysWhereItEnds) {
  SvgDrawing svg;
  const ChartPanel place{50, 100, 600, 0};
  EXPECT_DOUBLE_EQ(draw_legend(svg, place, LegendMark::Bar, {}), 100);
  EXPECT_DOUBLE_EQ(draw_legend(svg, place, LegendMark::Bar, {"one", "two"}), 118);  // a line of 18 pixels
  EXPECT_THAT(svg.document(700, 200, 12), HasSubstr(">two</text>"));
}

}  // namespace
}  // namespace lockstep
