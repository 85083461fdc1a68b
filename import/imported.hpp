#pragma once

#include <string>
#include <vector>

#include "base/config_path.hpp"
#include "import/draft.hpp"

namespace lockstep::importing {

/// Whether an argument is a file that a recogniser takes, a folder with a `config.json`, a model id, or `-`
/// for standard input.
[[nodiscard]] bool is_description(const std::string& argument);

/// Whether a file is there that an importer reads. @throws InputError for one that begins like such a file
/// and is broken
[[nodiscard]] bool is_file_of_importer(const std::string& file);

/// The scenario that files and model ids describe together, completed and checked as `lockstep run` reads it.
/// @throws InputError with the place in the user's file
[[nodiscard]] Draft import_description(const std::vector<std::string>& arguments, const ConfigPath& configs);

}  // namespace lockstep::importing
