#pragma once

#include <string>

#include "calibration/validate.hpp"

namespace lockstep {

/// Everything that validation_text() can print, as JSON: all `points`, by quantity `errors`, and
/// `rank_correlation_of_step`. Durations in seconds, errors as fractions.
[[nodiscard]] std::string validation_json(const Validation& validation);

}  // namespace lockstep
