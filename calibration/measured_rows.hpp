#pragma once

/// @file
/// Predictions of the rows of validation sets that need no simulation: kernels, and collectives alone on a
/// machine.

#include <span>
#include <string>
#include <vector>

#include "base/config_path.hpp"
#include "calibration/validate.hpp"

namespace lockstep {

/// Predictions by the kernel model of the row's GPU (ops/kernel_model.hpp), with its band. They say whether
/// the row is in the range that the model was checked in. Settings that describe no kernel are refused.
[[nodiscard]] std::vector<PredictedTimes> predict_kernels(std::span<const ScenarioSettings> rows,
                                                          const ConfigPath& configs);

/// Predictions by the planner with the row's CollectiveSettings, in the way that `lockstep calibrate fit`
/// compares it, with the plan's band. `sendrecv` has every rank send to the next one at once. Settings that
/// describe no collective of the cluster are refused.
[[nodiscard]] std::vector<PredictedTimes> predict_collectives(std::span<const ScenarioSettings> rows,
                                                              const ConfigPath& configs);

}  // namespace lockstep
