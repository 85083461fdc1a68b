#pragma once

/// @file
/// Scenarios of a validation set's rows, predicted: one in this process, or all in parallel ones.

#include <cstddef>
#include <functional>
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

/// Predicts @p rows one after the other. Those that make no scenario, or one that cannot go on or does not
/// fit, are refused.
[[nodiscard]] std::vector<PredictedTimes> predict_steps(const std::string& name,
                                                        std::span<const ScenarioSettings> rows,
                                                        const ConfigPath& configs);

/// Rows that are predicted in one way, some at a time.
struct RowSet {
  std::span<const ScenarioSettings> rows;
  PredictRows predict;
  std::size_t rows_of_a_task = 1;
};

/// Steps of scenarios, a row at a time.
[[nodiscard]] RowSet step_rows(const std::string& name, std::span<const ScenarioSettings> rows,
                               const ConfigPath& configs);

/// Predicts the rows of all @p sets in up to @p jobs forked processes, each of which takes rows of any set
/// until none is left; equal rows of a set once. Ends the process where a signal asks for it.
/// @param ended is told the number of each set when all its rows are predicted
/// @throws std::runtime_error for a bug
[[nodiscard]] std::vector<std::vector<PredictedTimes>> predict_side_by_side(
    std::span<const RowSet> sets, std::size_t jobs,
    const std::function<void(std::size_t)>& ended = [](std::size_t) {});

}  // namespace lockstep
