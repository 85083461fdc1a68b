#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/config_path.hpp"
#include "base/yaml_document.hpp"
#include "scenario/overrides.hpp"

namespace lockstep {

/// A scenario as a command takes it.
struct OpenedScenario {
  std::filesystem::path path;  ///< of its file
  ConfigPath configs;          ///< the standard ones, and those beside it
  YamlDocument document;       ///< with what `--set` says
};

constexpr const char* kStandardInput = "stdin";  ///< in place of a scenario's file: `-`

/// The file that a command's word names; kStandardInput for `-`. @throws std::invalid_argument for no
/// scenario
[[nodiscard]] std::filesystem::path scenario_path(const std::string& scenario, const ConfigPath& configs);

/// The document of that file; standard input is read to its end, once. @throws InputError
[[nodiscard]] YamlDocument read_scenario(const std::filesystem::path& path);

/// @param scenario a name of `lockstep list`, a file or its folder, `-`: standard input
/// @throws InputError when there is none, or it is no YAML
[[nodiscard]] OpenedScenario open_scenario(const std::string& scenario,
                                           const std::vector<Override>& overrides);

}  // namespace lockstep
