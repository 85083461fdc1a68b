#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "scenario/overrides.hpp"
#include "base/config_path.hpp"
#include "base/yaml_document.hpp"

namespace lockstep {

/// A scenario as a command takes it.
struct OpenedScenario {
  std::filesystem::path path;  ///< of its file
  ConfigPath configs;          ///< the standard ones, and those beside it
  YamlDocument document;       ///< with what `--set` says
};

/// @param scenario a name of `lockstep list`, a file or its folder
/// @throws InputError when there is none, or it is no YAML
[[nodiscard]] OpenedScenario open_scenario(const std::string& scenario,
                                           const std::vector<Override>& overrides);

}  // namespace lockstep
