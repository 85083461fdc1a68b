#pragma once

#include <fmt/format.h>

#include <array>
#include <cstddef>
#include <iterator>
#include <string>
#include <utility>

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
/// colours can tell apart.
[[nodiscard]] const char* svg_colour(std::size_t series);

}  // namespace lockstep
