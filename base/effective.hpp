#pragma once

#include <string>

#include "base/config_path.hpp"
#include "base/parameter_type.hpp"
#include "base/yaml_document.hpp"

namespace lockstep {

/// A configuration as it was understood: every parameter, in the order of declaration, named configurations
/// written out, and behind each value its origin: `default`, `file:line`, `--set KEY`, and what it rests on
/// where that is said (`measured`, ...; base/provenance.hpp). Reads back as the same Spec, with nothing but
/// this text at hand.
/// @pre the document was read as this type without a complaint
/// @throws InputError when a named configuration has vanished since
std::string effective_text(const ParameterType& type, const YamlDocument& document,
                           const ConfigPath& configs);

/// The same as a tree: SourceLocation::file of a default is `default`.
YamlNode effective_tree(const ParameterType& type, const YamlDocument& document, const ConfigPath& configs);

/// The same without the origins: equal for two documents that mean the same, wherever it was written.
std::string effective_values(const ParameterType& type, const YamlDocument& document,
                             const ConfigPath& configs);

template <Described Spec>
std::string effective_text(const YamlDocument& document, const ConfigPath& configs = ConfigPath::standard()) {
  return effective_text(type_of<Spec>(), document, configs);
}

}  // namespace lockstep
