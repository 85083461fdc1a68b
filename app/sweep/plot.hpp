#pragma once

/// @file
/// A small chart: values over categories, one series for each colour.

#include <optional>
#include <string>
#include <vector>

namespace lockstep {

struct PlotSeries {
  std::string name;
  std::vector<std::optional<double>> values;  ///< by category; none: a gap
};

struct Plot {
  std::string title;
  std::string unit;  ///< behind the title, "" for none
  std::string x;     ///< what the categories are values of
  std::vector<std::string> categories;
  std::vector<PlotSeries> series;
  bool is_ordered = false;  ///< categories are numbers that grow: lines join them, else there are bars
};

/// A picture for a browser or a paper, with a value behind each mark as its tooltip. The axis begins at 0.
[[nodiscard]] std::string to_svg(const Plot& plot);

}  // namespace lockstep
