#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <string>

#include "base/config_path.hpp"
#include "calibration/validate.hpp"

namespace CLI {
class App;
}

namespace lockstep {

/// Which rows, and how.
struct ValidationRun {
  std::filesystem::path data;  ///< folder of measurements; empty: see folder_of_tables()
  std::size_t every = 1;       ///< each so-manieth row of the set
  std::size_t jobs = 1;        ///< processes
};

/// The folder of measurements that a set's file is used with when none is said: `../shared/data` beside the
/// tree that the file lies in.
[[nodiscard]] std::filesystem::path usual_data_folder(const std::filesystem::path& set_file);

/// Where a set's tables are: in `measured/` beside the set's file, where small tables that are part of
/// Lockstep are, when it has all of them; else in @p data, or where that is empty in usual_data_folder().
[[nodiscard]] std::filesystem::path folder_of_tables(const ValidationSet& set,
                                                     const std::filesystem::path& set_file,
                                                     const std::filesystem::path& data);

/// The set called @p name (or the file) against our predictions.
/// @throws InputError, also where the measurements are absent; StallError
[[nodiscard]] Validation validate_set(const std::string& name, const ConfigPath& configs,
                                      const ValidationRun& run);

/// Registers `lockstep validate`; when it was called, @p action runs it.
void add_validate_command(CLI::App& app, std::function<int()>& action);

}  // namespace lockstep
