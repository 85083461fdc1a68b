#pragma once

#include <string>
#include <vector>

#include "base/yaml_node.hpp"

namespace lockstep {

/// The one place that knows yaml-cpp: text to tree, aliases and merge keys resolved, keys unique.
/// Duplicate and non-scalar keys are added to @p problems; the first of two keys is kept.
/// @throws InputError for a syntax error, for more than one document, for aliases nested without end
YamlNode parse_yaml(const std::string& text, const std::string& file, std::vector<Problem>& problems);

}  // namespace lockstep
