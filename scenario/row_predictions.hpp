#pragma once

/// @file
/// Scenarios of a validation set's rows, predicted: one in this process, or all in parallel ones.

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "base/config_path.hpp"
#include "calibration/validate.hpp"
#include "sim/simulation.hpp"

namespace lockstep {

/// Predicts the scenario that @p settings describe.
/// @param engine Bare runs any number in one process
/// @throws InputError for settings that make no scenario
[[nodiscard]] PredictedTimes predict_row(const std::string& name, const ScenarioSettings& settings,
                                         const ConfigPath& configs, EngineMode engine);

/// Predicts @p rows in up to @p jobs forked processes, a few rows each. Rows that make no scenario, or one
/// that cannot go on or does not fit, are refused. Ends the process where a signal asks for it.
/// @throws std::runtime_error for a bug
[[nodiscard]] std::vector<PredictedTimes> predict_rows(const std::string& name,
                                                       std::span<const ScenarioSettings> rows,
                                                       const ConfigPath& configs, std::size_t jobs);

}  // namespace lockstep
