#pragma once

#include <string>

#include "base/yaml_node.hpp"

namespace lockstep::importing {

/// TOML as a tree with the place of each key. @throws InputError for broken TOML
[[nodiscard]] YamlNode toml_tree(const std::string& text, const std::string& name);

}  // namespace lockstep::importing
