#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/parameter_type.hpp"

namespace lockstep {

/// A parameter and its place: `links[].bandwidth` for the items of a list, `peak.*` for the entries of a
/// table.
struct PlacedParameter {
  std::string path;
  const Parameter* parameter;
};

/// All parameters below a type, parents before children, in the order of declaration. Valid as long as @p
/// type is.
std::vector<PlacedParameter> all_parameters(const ParameterType& type);

/// Key, type, unit, default and meaning of the parameters that @p key names: a whole path
/// (`cluster.gpu.memory`) or its end (`memory`); for a mapping also what is in it. std::nullopt when there is
/// no such key.
std::optional<std::string> explain(const ParameterType& type, const std::string& key);

/// A line for each parameter whose path, type or meaning has @p word in it, in small letters or large ones:
/// what to look at when the name of a parameter is not known. "" where none has.
std::string explain_word(const ParameterType& type, const std::string& word);

/// Every key and every path that explain() knows.
std::vector<std::string> known_keys(const ParameterType& type);

/// One line a parameter: path, type, default, meaning.
std::string explain_all(const ParameterType& type);

}  // namespace lockstep
