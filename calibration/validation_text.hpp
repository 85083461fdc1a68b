#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "calibration/error_summary.hpp"
#include "calibration/validate.hpp"

namespace lockstep {

/// Whose predictions, of what, over which points: a line of figures of error.
struct ErrorLine {
  std::string column;  ///< of the table; "" for all points
  std::string cell;    ///< the points with this cell there
  ErrorSummary ours;
  std::vector<ErrorSummary> others;  ///< by ValidationSet::others; count 0 where it predicts nothing
};

enum class ComparedQuantity : std::uint8_t { Step, GpuBusy };

/// A line for each cell of each column of ValidationSet::rows, and one for all points.
[[nodiscard]] std::vector<ErrorLine> error_lines(const Validation& validation, ComparedQuantity quantity);

/// The tables that `lockstep validate` prints: every point, then figures of error, ours and others' side by
/// side; GPU busy time first, because step times rest on it.
[[nodiscard]] std::string validation_text(const Validation& validation);

}  // namespace lockstep
