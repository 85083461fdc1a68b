#pragma once

#include <string>

#include "scenario/prediction.hpp"
#include "scenario/sensitivity.hpp"

namespace lockstep {

/// The result as JSON (docs/results.md): times in seconds, sizes in bytes.
/// @param sensitivity empty where it was not asked for
[[nodiscard]] std::string metrics_json(const ResolvedScenario& resolved, const SimulationResult& result,
                                       const Sensitivity& sensitivity = {});

}  // namespace lockstep
