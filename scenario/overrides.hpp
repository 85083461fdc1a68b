#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/yaml_document.hpp"

namespace lockstep {

/// A key and its value from `--set KEY=VALUE`.
struct Override {
  std::string key_path;
  std::string value;  ///< YAML
};

/// @throws std::invalid_argument for an assignment without key or `=`
[[nodiscard]] std::vector<Override> overrides_of(const std::vector<std::string>& assignments);

/// The scenario and its overrides as words of a command line: `my.yaml --set steps=5`.
[[nodiscard]] std::string as_typed(const std::string& scenario, const std::vector<Override>& overrides);

/// ` - each KEY=VALUE needs a --set of its own: --set a=1` for a word of the command line that looks like one
/// which stands by itself; else nothing.
[[nodiscard]] std::string set_meant(const std::string& word);

/// `1,2,4` as its three values, split at the commas outside of brackets, braces and quotes: `[1, 2]` is one.
/// @throws std::invalid_argument for a value that is empty or left open
[[nodiscard]] std::vector<std::string> values_of(const Override& given);

}  // namespace lockstep
