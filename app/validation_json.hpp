#pragma once

#include <string>

#include "calibration/validate.hpp"

namespace lockstep {

/// Everything that validation_text() prints, as JSON: `points` and, by quantity, `errors`. Durations in
/// seconds, errors as fractions.
[[nodiscard]] std::string validation_json(const Validation& validation);

}  // namespace lockstep
