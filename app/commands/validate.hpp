#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "base/config_path.hpp"
#include "calibration/validate.hpp"

namespace CLI {
class App;
}

namespace lockstep {

/// The rows to validate, and the way to do it.
struct ValidationRun {
  std::filesystem::path data;  ///< folder of measurements; empty: usual_data_folder()
  std::size_t every = 1;       ///< each so-manieth row of the set
  std::size_t jobs = 1;        ///< processes
  bool default_host = false;   ///< steps: on the host that the GPU names, whatever the set says
};

/// The folder of measurements that a set's file is used with when none is said: `../shared/data` beside the
/// tree that the file lies in.
[[nodiscard]] std::filesystem::path usual_data_folder(const std::filesystem::path& set_file);

/// The set called @p name (or the file) against our predictions.
/// @throws InputError, also where the measurements are absent; StallError
[[nodiscard]] Validation validate_set(const std::string& name, const ConfigPath& configs,
                                      const ValidationRun& run);

/// Several of them: rows of all are predicted side by side. stderr tells which sets are done.
/// @throws InputError as validate_set(), before anything is predicted where measurements are absent
[[nodiscard]] std::vector<Validation> validate_sets(const std::vector<std::string>& names,
                                                    const ConfigPath& configs, const ValidationRun& run);

/// Registers `lockstep validate`; when it was called, @p action runs it.
void add_validate_command(CLI::App& app, std::function<int()>& action);

}  // namespace lockstep
