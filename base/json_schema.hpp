#pragma once

#include <string>

#include "base/config_path.hpp"
#include "base/parameter_type.hpp"

namespace lockstep {

/// The JSON Schema (draft-07, which editors' YAML servers understand) of a configuration file: keys, types,
/// units as patterns, choices, defaults, meanings, and the names of @p configs for what can be named.
///
/// Keys are required only where no `include:` or `from:` may give them; the strict reader
/// (base/yaml_reader.hpp) has the last word.
std::string json_schema(const ParameterType& type, const std::string& title, const ConfigPath& configs);

template <Described Spec>
std::string json_schema(const std::string& title, const ConfigPath& configs = ConfigPath::standard()) {
  return json_schema(type_of<Spec>(), title, configs);
}

}  // namespace lockstep
