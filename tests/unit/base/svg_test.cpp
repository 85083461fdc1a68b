#include "base/svg.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

namespace lockstep {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST(Svg, ADocumentIsItsElementsOnWhite) {
  SvgDrawing drawing;
  drawing.add(R"(<path d="M{:.1f} 0 H{}"/>)", 1.25, 7);
  const std::string svg = drawing.document(10, 20, 12);
  EXPECT_THAT(
      svg, StartsWith(R"(<svg xmlns="http://www.w3.org/2000/svg" class="chart" width="10" height="20" )"
                      R"(viewBox="0 0 10 20" font-family="Helvetica, Arial, sans-serif" font-size="12">)"));
  EXPECT_THAT(svg, EndsWith("</style>\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n"
                            "<path d=\"M1.2 0 H7\"/>\n</svg>\n"));
}

TEST(Svg, AloneItFollowsTheReadersMode) {
  EXPECT_THAT(SvgDrawing{}.document(1, 1, 12),
              HasSubstr("@media (prefers-color-scheme: dark) { svg.chart:root"));
}

TEST(Svg, TextIsNoMarkup) {
  EXPECT_EQ(svg_escaped("a<b> & c"), "a&lt;b&gt; &amp; c");
}

TEST(Svg, ColoursGoRound) {
  EXPECT_STREQ(svg_colour(0), svg_colour(7));
  EXPECT_STRNE(svg_colour(0), svg_colour(1));
}

/// All different among the first @p count.
template <class Look>
bool are_told_apart(std::size_t count, Look look) {
  std::set<std::string> looks;
  for (std::size_t i = 0; i < count; ++i) {
    looks.insert(look(i));
  }
  return looks.size() == count;
}

TEST(Svg, SeriesBeyondTheColoursAreToldApart) {
  EXPECT_TRUE(are_told_apart(56, [](std::size_t i) { return svg_mark(i, {}); }));
  EXPECT_TRUE(are_told_apart(56, [](std::size_t i) { return svg_mark(i, {0, 0, 4, true}); }));
  EXPECT_TRUE(are_told_apart(35, svg_line));
  EXPECT_TRUE(are_told_apart(35, svg_bar));
}

TEST(Svg, AMarkLiesWhereItIsPut) {
  EXPECT_EQ(svg_mark(0, {10, 20, 4}, "a<b"),
            R"(<circle cx="10.0" cy="20.0" r="4" fill="#0072b2" fill-opacity="1" stroke="#0072b2">)"
            "<title>a&lt;b</title></circle>");
  EXPECT_EQ(svg_mark(8, {10, 20, 2, true, 0.5}),  // the second colour's square
            R"(<polygon points="8.1,18.1 11.9,18.1 11.9,21.9 8.1,21.9" fill="none" fill-opacity="0.5" )"
            R"(stroke="#e69f00"></polygon>)");
}

TEST(Svg, ALegendHasTheColumnsThatFit) {
  // A column is 20 + 10 x 6.6 + 16 = 102 pixels wide: three of them, three lines of seven names.
  const SvgLegend legend{std::vector<std::string>(7, "ten glyphs"), 320};
  EXPECT_EQ(legend.height(), 3 * 18);
  EXPECT_EQ(legend.x_of(0), 0);
  EXPECT_EQ(legend.y_of(2), 2 * 18);
  EXPECT_NEAR(legend.x_of(3), 102, 1e-9);
  EXPECT_EQ(legend.y_of(3), 0);
  EXPECT_NEAR(legend.x_of(6), 204, 1e-9);
  const SvgLegend narrow{{"ten glyphs", "ten glyphs"}, 50};
  EXPECT_EQ(narrow.height(), 2 * 18);
}

}  // namespace
}  // namespace lockstep
