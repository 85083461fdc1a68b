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

/// By the kernel model of the row's GPU (ops/kernel_model.hpp), with its band, and whether it is in the range
/// that the model was checked in.
/// @param name of the set, for messages
/// @throws InputError for settings that describe no kernel, with the row's
[[nodiscard]] std::vector<PredictedTimes> predict_kernels(const std::string& name,
                                                          std::span<const ScenarioSettings> rows,
                                                          const ConfigPath& configs);

/// By the planner with the row's profile, as `lockstep calibrate fit` compares it, with the plan's band.
/// @throws InputError for settings that describe no collective of the cluster, with the row's
[[nodiscard]] std::vector<PredictedTimes> predict_collectives(const std::string& name,
                                                              std::span<const ScenarioSettings> rows,
                                                              const ConfigPath& configs);

/// `key=value key=value`.
[[nodiscard]] std::string in_words(const ScenarioSettings& settings);

}  // namespace lockstep
