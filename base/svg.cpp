#include "base/svg.hpp"

namespace lockstep {

std::string SvgDrawing::document(double width, double height, int font_size) const {
  return fmt::format(
             R"(<svg xmlns="http://www.w3.org/2000/svg" width="{0:.0f}" height="{1:.0f}" viewBox="0 0 {0:.0f} {1:.0f}" )"
             R"(font-family="Helvetica, Arial, sans-serif" font-size="{2}">)",
             width, height, font_size) +
         "\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n" + elements_ + "</svg>\n";
}

std::string svg_escaped(const std::string& text) {
  std::string safe;
  for (const char c : text) {
    safe += c == '<' ? "&lt;" : c == '>' ? "&gt;" : c == '&' ? "&amp;" : std::string{c};
  }
  return safe;
}

const char* svg_colour(std::size_t series) {
  static constexpr std::array kColours{"#0072b2", "#e69f00", "#009e73", "#d55e00",
                                       "#cc79a7", "#56b4e9", "#000000"};
  return kColours.at(series % kColours.size());
}

}  // namespace lockstep
