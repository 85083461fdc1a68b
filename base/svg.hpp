#pragma once

#include <fmt/format.h>

#include <array>
#include <cstddef>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

namespace lockstep {

/// The elements of an SVG picture, one a line, in the order in which they are drawn.
class SvgDrawing {
 public:
  template <class... Args>
  void add(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(elements_), format, std::forward<Args>(args)...);
    elements_ += '\n';
  }

  /// The picture on white, in pixels.
  [[nodiscard]] std::string document(double width, double height, int font_size) const;

 private:
  std::string elements_;
};

/// Text as content of an element.
[[nodiscard]] std::string svg_escaped(const std::string& text);

/// The colour of the so-manieth series, round and round: Okabe and Ito's palette, which people who see few
/// colours can tell apart. From the eighth on it takes a mark, dashes or a filling to tell series apart.
[[nodiscard]] const char* svg_colour(std::size_t series);

/// The place and the look of a mark.
struct SvgMark {
  double x = 0;
  double y = 0;
  double radius = 4;
  bool is_hollow = false;
  double opacity = 1;
};

/// The mark of the so-manieth series as an element: a circle for the first seven, then a square, a triangle
/// and so on; 56 series look different.
[[nodiscard]] std::string svg_mark(std::size_t series, const SvgMark& mark, const std::string& title = {});

/// Attributes of the so-manieth series' line; 35 series look different.
[[nodiscard]] std::string svg_line(std::size_t series);

/// Attributes of the so-manieth series' bars; 35 series look different.
[[nodiscard]] std::string svg_bar(std::size_t series);

/// Names under one another, in as many columns as fit.
class SvgLegend {
 public:
  /// @param width of the place there is, in pixels, at 12 pixels a glyph's height
  SvgLegend(const std::vector<std::string>& names, double width);

  [[nodiscard]] double x_of(std::size_t name) const;  ///< of its mark, from the legend's left
  [[nodiscard]] double y_of(std::size_t name) const;  ///< of its line, from the first one
  [[nodiscard]] double height() const { return kLine * static_cast<double>(rows_); }

  static constexpr double kText = 20;  ///< from a mark to its name

 private:
  static constexpr double kLine = 18;
  double column_ = 0;
  std::size_t rows_ = 0;
};

}  // namespace lockstep
