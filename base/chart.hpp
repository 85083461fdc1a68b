#pragma once

/// @file
/// Scales, axes and legends of all charts. Light and dark colours are SvgDrawing's.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/svg.hpp"

namespace lockstep {

/// Values along a stretch of pixels. Pixels may grow against the values, as on an upright axis.
class ChartScale {
 public:
  enum class Spacing : std::uint8_t { Linear, Logarithmic };
  struct Range {
    double from = 0;
    double to = 0;
  };

  /// @param values different; above 0 where they are logarithmic
  ChartScale(const Range& values, const Range& pixels, Spacing spacing = Spacing::Linear);

  [[nodiscard]] double at(double value) const;
  [[nodiscard]] const Range& values() const { return values_; }

 private:
  Range values_, pixels_;
  Spacing spacing_;
};

struct ChartTick {
  double value = 0;
  std::string label;
  bool is_strong = false;  ///< its line is drawn darker than the grid
};

/// Round steps of an axis from 0 that holds @p largest: 1, 2 or 5 times a power of ten, about five of them.
[[nodiscard]] double axis_step(double largest);

/// Ticks at round steps from one value to another one.
/// @param unit behind each label, "" for none
[[nodiscard]] std::vector<ChartTick> round_ticks(const ChartScale::Range& values,
                                                 const std::string& unit = {});

/// The rectangle in which a chart draws; pixels.
struct ChartPanel {
  double left = 0, top = 0, width = 0, height = 0;

  [[nodiscard]] double right() const { return left + width; }
  [[nodiscard]] double bottom() const { return top + height; }
  /// Drawn from the left edge to the right one.
  [[nodiscard]] ChartScale across(const ChartScale::Range& values,
                                  ChartScale::Spacing spacing = ChartScale::Spacing::Linear) const;
  /// Drawn from the bottom to the top.
  [[nodiscard]] ChartScale upwards(const ChartScale::Range& values,
                                   ChartScale::Spacing spacing = ChartScale::Spacing::Linear) const;
};

enum class ChartSide : std::uint8_t { Left, Bottom, Top };

/// Draws a grid's lines across @p panel, each with its label at @p side.
void draw_axis(SvgDrawing& svg, const ChartPanel& panel, ChartSide side, const ChartScale& scale,
               std::span<const ChartTick> ticks);

/// Draws what the values of an axis are: above the left one, below the right end of the bottom one, and left
/// of the top one.
void draw_axis_name(SvgDrawing& svg, const ChartPanel& panel, ChartSide side, const std::string& name);

enum class LegendMark : std::uint8_t { Point, Line, Bar };

/// Draws a name for each series, in as many columns as fit. @param place top: of the first line
/// @return the pixel below it
double draw_legend(SvgDrawing& svg, const ChartPanel& place, LegendMark mark,
                   const std::vector<std::string>& names);

}  // namespace lockstep
