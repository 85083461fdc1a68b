#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include "base/config_path.hpp"
#include "calibration/validate.hpp"
#include "sim/simulation.hpp"

namespace CLI {
class App;
}

namespace lockstep {

/// The folder of measurements that a set's file is used with when none is said: `../shared/data` beside the
/// tree that the file lies in.
[[nodiscard]] std::filesystem::path usual_data_folder(const std::filesystem::path& set_file);

/// Predicts the scenario that @p settings describe.
/// @param engine Bare runs any number in one process
/// @throws InputError for settings that make no scenario
[[nodiscard]] PredictedTimes predict_row(const std::string& name, const ScenarioSettings& settings,
                                         const ConfigPath& configs, EngineMode engine);

/// The set called @p name (or the file) against our predictions.
/// @param data folder of measurements; empty: usual_data_folder()
/// @throws InputError, also where the measurements are absent
[[nodiscard]] Validation validate_set(const std::string& name, const std::filesystem::path& data,
                                      const ConfigPath& configs);

/// Registers `lockstep validate`; when it was called, @p action runs it.
void add_validate_command(CLI::App& app, std::function<int()>& action);

}  // namespace lockstep
