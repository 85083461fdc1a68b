#pragma once

#include <functional>
#include <string>

#include "base/yaml_node.hpp"

namespace lockstep {

/// On one line, e.g. `{a: 1, b: [x, ~]}`.
std::string flow_text(const YamlNode& node);

/// Over many lines, two blanks a level. @p comment gives the remark behind a value (or behind the key of a
/// mapping or list), "" for none; remarks begin in the same column where they can.
std::string block_text(const YamlNode& node, const std::function<std::string(const YamlNode&)>& comment);

/// A scalar as YAML: in double quotes where it would not read as itself.
std::string quoted_if_needed(const std::string& text);

}  // namespace lockstep
