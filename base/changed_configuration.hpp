#pragma once

#include "base/yaml_node.hpp"

namespace lockstep {

/// overlaid() for a configuration that says what its numbers rest on (`provenance`): a number of which @p
/// over sets another value, and gives no source, rests no longer on what the one before did. It is guessed,
/// set where @p over is. Names of other configurations have a provenance of their own and keep theirs here.
YamlNode changed_configuration(YamlNode configuration, YamlNode over);

}  // namespace lockstep
