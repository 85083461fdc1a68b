#pragma once

#include <functional>
#include <string>

#include "base/config_path.hpp"

namespace CLI {
class App;
}

namespace lockstep {

/// The names of scenarios and of configurations by kind, with what each is; of one kind only where @p kind is
/// not empty ("scenarios" or a folder of configs/).
/// @throws InputError for an unknown kind, and where no configurations are found
std::string list_text(const ConfigPath& configs, const std::string& kind);

/// The same as JSON: [{kind, name, title, sizes}].
std::string list_json(const ConfigPath& configs, const std::string& kind);

/// The names of one kind alone, one a line.
std::string names_text(const ConfigPath& configs, const std::string& kind);

/// Registers `lockstep list`; when it was called, @p action runs it.
void add_list_command(CLI::App& app, std::function<int()>& action);

}  // namespace lockstep
