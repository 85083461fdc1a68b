#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "calibration/validate.hpp"

namespace lockstep {

enum class PrintedPoints : std::uint8_t {
  FewOrWorst,  ///< all of a table of at most 40 points, else those with the largest errors of step time
  All,
};

/// The tables that `lockstep validate` prints: points, then figures of error, ours and others'; GPU busy time
/// first, because step times rest on it; then how well the order of step times is predicted.
[[nodiscard]] std::string validation_text(const Validation& validation,
                                          PrintedPoints printed = PrintedPoints::FewOrWorst);

/// Reasons to doubt the table's unit: predictions that are all some orders of magnitude off. "": none.
[[nodiscard]] std::string doubts_about_unit(const Validation& validation);

/// One line each set and quantity, over all its points, and under them the sets' aims beside what was
/// reached.
[[nodiscard]] std::string validation_summary(std::span<const Validation> validations);

}  // namespace lockstep
