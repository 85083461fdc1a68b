#pragma once

#include <string>

#include "app/prediction.hpp"

namespace lockstep {

/// The result as JSON (docs/metrics.md): times in seconds, sizes in bytes.
[[nodiscard]] std::string metrics_json(const Setting& setting, const SimulationResult& result);

/// Time of a step in which at least one stream of the GPU is active, s; mean of the metered ranks.
[[nodiscard]] double gpu_busy_per_step(const SimulationResult& result, int steps);

}  // namespace lockstep
