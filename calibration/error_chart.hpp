#pragma once

#include <span>
#include <string>
#include <vector>

#include "calibration/validate.hpp"

namespace lockstep {

/// One set of predictions on a chart of several.
struct ErrorChartRow {
  std::string name;
  std::string title;           ///< what was measured, in small letters under the name
  std::vector<double> ratios;  ///< predicted / measured
};

/// A row for each set that predicts @p thing and has points, in their order: kernel or collective times; of
/// training steps step times, and busy times of the GPU in a row of their own.
[[nodiscard]] std::vector<ErrorChartRow> error_chart_rows(std::span<const Validation> validations,
                                                          PredictedThing thing);

/// Predicted over measured on a logarithmic axis from 1/2 to 2, a line for each set: every point where they
/// are few, a bar from the 10th to the 90th percentile and a stroke at the median; ratios beyond the axis are
/// drawn at its end. Shaded: 10 % off.
/// @throws std::invalid_argument for no rows, a row without ratios, or a ratio that is not above zero
[[nodiscard]] std::string error_chart(const std::string& title, std::span<const ErrorChartRow> rows);

}  // namespace lockstep
