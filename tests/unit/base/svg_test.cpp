#include "base/svg.hpp"

#include <gtest/gtest.h>

namespace lockstep {
namespace {

TEST(Svg, ADocumentIsItsElementsOnWhite) {
  SvgDrawing drawing;
  drawing.add(R"(<path d="M{:.1f} 0 H{}"/>)", 1.25, 7);
  EXPECT_EQ(drawing.document(10, 20, 12),
            R"(<svg xmlns="http://www.w3.org/2000/svg" width="10" height="20" viewBox="0 0 10 20" )"
            R"(font-family="Helvetica, Arial, sans-serif" font-size="12">)"
            "\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n<path d=\"M1.2 0 H7\"/>\n</svg>\n");
}

TEST(Svg, TextIsNoMarkup) {
  EXPECT_EQ(svg_escaped("a<b> & c"), "a&lt;b&gt; &amp; c");
}

TEST(Svg, ColoursGoRound) {
  EXPECT_STREQ(svg_colour(0), svg_colour(7));
  EXPECT_STRNE(svg_colour(0), svg_colour(1));
}

}  // namespace
}  // namespace lockstep
