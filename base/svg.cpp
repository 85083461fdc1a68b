#include "base/svg.hpp"

#include <algorithm>
#include <span>

#include "base/utf8.hpp"

namespace lockstep {
namespace {

constexpr std::array kColours{"#0072b2", "#e69f00", "#009e73", "#d55e00", "#cc79a7", "#56b4e9", "#000000"};

using Corner = std::pair<double, double>;

constexpr auto kSquare = std::to_array<Corner>({{-0.95, -0.95}, {0.95, -0.95}, {0.95, 0.95}, {-0.95, 0.95}});
constexpr auto kUp = std::to_array<Corner>({{0, -1.4}, {1.25, 0.85}, {-1.25, 0.85}});
constexpr auto kDiamond = std::to_array<Corner>({{0, -1.45}, {1.15, 0}, {0, 1.45}, {-1.15, 0}});
constexpr auto kDown = std::to_array<Corner>({{0, 1.4}, {-1.25, -0.85}, {1.25, -0.85}});
constexpr auto kCross = std::to_array<Corner>({{-0.45, -1.35},
                                               {0.45, -1.35},
                                               {0.45, -0.45},
                                               {1.35, -0.45},
                                               {1.35, 0.45},
                                               {0.45, 0.45},
                                               {0.45, 1.35},
                                               {-0.45, 1.35},
                                               {-0.45, 0.45},
                                               {-1.35, 0.45},
                                               {-1.35, -0.45},
                                               {-0.45, -0.45}});
constexpr auto kRight = std::to_array<Corner>({{1.4, 0}, {-0.85, 1.25}, {-0.85, -1.25}});
constexpr auto kLeft = std::to_array<Corner>({{-1.4, 0}, {0.85, -1.25}, {0.85, 1.25}});

/// In radii, of the marks after the circle.
constexpr std::array<std::span<const Corner>, 7> kCorners{kSquare, kUp,    kDiamond, kDown,
                                                          kCross,  kRight, kLeft};

/// Greys and colours of series take those of the page around the picture (report.css has the same names), or
/// of the reader's light or dark mode where it stands alone. A viewer without style sheets shows them as
/// written.
constexpr const char* kStyle = R"(
<style>
@media (prefers-color-scheme: dark) { svg.chart:root { --paper: #0f1318; --panel: #1d242d; --ink: #e6eaee; --muted: #9aa6b2; --grid: #2c343d; 
  --blue: #3d9bd6; --orange: #e9ad28; --green: #2bb88f; --red: #ee7a33; --pink: #d98fb8; --sky: #7cc4ee } }
svg.chart > rect[fill="white"] { fill: var(--paper, #ffffff) }
svg.chart [stroke="white"] { stroke: var(--paper, #ffffff) }
svg.chart text:not([fill]), svg.chart [fill="#000000"] { fill: var(--ink, #1b1f24) }
svg.chart [stroke="#000000"] { stroke: var(--ink, #1b1f24) }
svg.chart [fill="#444444"], svg.chart [fill="#666666"] { fill: var(--muted, #57606a) }
svg.chart [stroke="#444444"], svg.chart [stroke="#888888"] { stroke: var(--muted, #57606a) }
svg.chart [stroke="#dddddd"], svg.chart [stroke="#eeeeee"], svg.chart [stroke="#bbbbbb"] { stroke: var(--grid, #dde2e7) }
svg.chart [fill="#0072b2"] { fill: var(--blue, #0072b2) }
svg.chart [stroke="#0072b2"] { stroke: var(--blue, #0072b2) }
svg.chart [fill="#e69f00"] { fill: var(--orange, #e69f00) }
svg.chart [stroke="#e69f00"] { stroke: var(--orange, #e69f00) }
svg.chart [fill="#009e73"] { fill: var(--green, #009e73) }
svg.chart [stroke="#009e73"] { stroke: var(--green, #009e73) }
svg.chart [fill="#d55e00"] { fill: var(--red, #d55e00) }
svg.chart [stroke="#d55e00"] { stroke: var(--red, #d55e00) }
svg.chart [fill="#cc79a7"] { fill: var(--pink, #cc79a7) }
svg.chart [stroke="#cc79a7"] { stroke: var(--pink, #cc79a7) }
svg.chart [fill="#56b4e9"] { fill: var(--sky, #56b4e9) }
svg.chart [stroke="#56b4e9"] { stroke: var(--sky, #56b4e9) }
svg.chart [fill="#e8eef4"], svg.chart [fill="#fafafa"] { fill: var(--panel, #f3f6f9) }
</style>
)";

}  // namespace

std::string SvgDrawing::document(double width, double height, int font_size) const {
  return fmt::format(
             R"(<svg xmlns="http://www.w3.org/2000/svg" class="chart" width="{0:.0f}" height="{1:.0f}" viewBox="0 0 {0:.0f} {1:.0f}" )"
             R"(font-family="Helvetica, Arial, sans-serif" font-size="{2}">)",
             width, height, font_size) +
         kStyle + "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n" + elements_ + "</svg>\n";
}

std::string svg_escaped(const std::string& text) {
  std::string safe;
  for (const char c : made_utf8(text)) {
    safe += c == '<' ? "&lt;" : c == '>' ? "&gt;" : c == '&' ? "&amp;" : std::string{c};
  }
  return safe;
}

const char* svg_colour(std::size_t series) {
  return kColours.at(series % kColours.size());
}

std::string svg_mark(std::size_t series, const SvgMark& mark, const std::string& title) {
  const char* colour = svg_colour(series);
  const std::string attributes =
      fmt::format(R"(fill="{}" fill-opacity="{}" stroke="{}">{})", mark.is_hollow ? "none" : colour,
                  mark.opacity, colour, title.empty() ? "" : "<title>" + svg_escaped(title) + "</title>");
  const std::size_t round = series / kColours.size() % (1 + kCorners.size());
  if (round == 0) {
    return fmt::format(R"(<circle cx="{:.1f}" cy="{:.1f}" r="{}" {}</circle>)", mark.x, mark.y, mark.radius,
                       attributes);
  }
  std::string points;
  for (const auto& [x, y] : kCorners[round - 1]) {
    points += fmt::format("{}{:.1f},{:.1f}", points.empty() ? "" : " ", mark.x + mark.radius * x,
                          mark.y + mark.radius * y);
  }
  return fmt::format(R"(<polygon points="{}" {}</polygon>)", points, attributes);
}

std::string svg_line(std::size_t series) {
  static constexpr std::array kDashes{"", "8 4", "2 3", "9 3 2 3", "14 3"};
  const char* dashes = kDashes.at(series / kColours.size() % kDashes.size());
  return fmt::format(R"(fill="none" stroke="{}" stroke-width="2"{})", svg_colour(series),
                     *dashes == 0 ? "" : fmt::format(R"( stroke-dasharray="{}")", dashes));
}

std::string svg_bar(std::size_t series) {
  const char* colour = svg_colour(series);
  switch (series / kColours.size() % 5) {
    case 0:
      return fmt::format(R"(fill="{}")", colour);
    case 1:
      return fmt::format(R"(fill="{0}" fill-opacity="0.35" stroke="{0}")", colour);
    case 2:
      return fmt::format(R"(fill="{}" stroke="#000000" stroke-width="2")", colour);
    case 3:
      return fmt::format(
          R"(fill="{0}" fill-opacity="0.1" stroke="{0}" stroke-width="2" stroke-dasharray="3 2")", colour);
    default:
      return fmt::format(R"(fill="{}" fill-opacity="0.35" stroke="#000000" stroke-width="2")", colour);
  }
}

SvgLegend::SvgLegend(const std::vector<std::string>& names, double width) {
  constexpr double kGlyph = 6.6;  // of 12 pixels' height, mean
  constexpr double kGap = 16;
  std::size_t longest = 0;
  for (const std::string& name : names) {
    longest = std::max(longest, name.size());
  }
  column_ = kText + kGlyph * static_cast<double>(longest) + kGap;
  const std::size_t columns = std::max<std::size_t>(1, static_cast<std::size_t>(width / column_));
  rows_ = (names.size() + columns - 1) / columns;
}

double SvgLegend::x_of(std::size_t name) const {
  const std::size_t column = name / rows_;
  return column_ * static_cast<double>(column);
}

double SvgLegend::y_of(std::size_t name) const {
  return kLine * static_cast<double>(name % rows_);
}

}  // namespace lockstep
