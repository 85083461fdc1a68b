#pragma once

#include <string>

#include "app/prediction.hpp"

namespace lockstep {

/// The result as JSON (docs/metrics.md): times in seconds, sizes in bytes.
[[nodiscard]] std::string metrics_json(const Setting& setting, const SimulationResult& result);

}  // namespace lockstep
