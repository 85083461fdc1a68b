#pragma once

#include <string>

#include "app/prediction.hpp"
#include "app/sensitivity.hpp"

namespace lockstep {

/// The result as JSON (docs/results.md): times in seconds, sizes in bytes.
/// @param sensitivity empty where it was not asked for
[[nodiscard]] std::string metrics_json(const Setting& setting, const SimulationResult& result,
                                       const Sensitivity& sensitivity = {});

/// Time of a step in which at least one stream of the GPU is active, s; mean of the metered ranks.
[[nodiscard]] double gpu_busy_per_step(const SimulationResult& result, int steps);

}  // namespace lockstep
