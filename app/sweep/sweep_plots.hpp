#pragma once

#include <string>
#include <vector>

#include "app/sweep/sweep_table.hpp"

namespace lockstep {

struct PlotFile {
  std::string name;  ///< e.g. `step_time.svg`
  std::string svg;
};

/// A plot for each figure that any point has: step time, cost, MFU, memory. The column with the most values
/// is drawn to the right, every combination of the others is a series.
[[nodiscard]] std::vector<PlotFile> sweep_plots(const SweepTable& table);

}  // namespace lockstep
