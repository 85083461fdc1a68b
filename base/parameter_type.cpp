#include "base/parameter_type.hpp"

#include <utility>

namespace lockstep {
namespace {

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) {
    text += (text.empty() ? "" : ", ") + word;
  }
  return text;
}

std::string mapping_in_words(const ParameterType& type) {
  if (!type.config_kind.empty()) {
    return "a name of configs/" + type.config_kind + ", a file or a mapping";
  }
  return type.has_shorthand ? "a short form or a mapping" : "a mapping";
}

std::string without_nothing(const ParameterType& type) {
  using Kind = ParameterType::Kind;
  switch (type.kind) {
    case Kind::Text:
      return "text";
    case Kind::Truth:
      return "true or false";
    case Kind::Integer:
      return "a whole number";
    case Kind::Number:
      return "a number";
    case Kind::Quantity:
      return type.units.what + " (" + type.units.examples + ")" +
             (type.units.may_be_unlimited ? ", or unlimited" : "");
    case Kind::Choice:
      return "one of: " + joined(type.choices);
    case Kind::Mapping:
      return mapping_in_words(type);
    case Kind::List:
      return "a list, each: " + in_words(type.element.front());
    case Kind::Table:
      return (type.choices.empty() ? "a mapping of names" : "a mapping of (" + joined(type.choices) + ")") +
             ", each: " + in_words(type.element.front());
    case Kind::Anything:
      return "any YAML";
  }
  throw std::logic_error{"a kind of parameter without words"};
}

}  // namespace

std::optional<std::string> place_of(const ParameterType& root, const std::string& key) {
  constexpr int kDeepest = 3;
  std::vector<std::pair<std::string, const ParameterType*>> level{{"", &root}};
  for (int depth = 0; depth <= kDeepest; ++depth) {
    std::vector<std::pair<std::string, const ParameterType*>> below;
    for (const auto& [path, mapping] : level) {
      for (const Parameter& parameter : mapping->parameters) {
        if (parameter.key == key) {
          return path;
        }
        if (parameter.type.kind == ParameterType::Kind::Mapping) {
          below.emplace_back((path.empty() ? "" : path + ".") + parameter.key, &parameter.type);
        }
      }
    }
    level = std::move(below);
  }
  return std::nullopt;
}

std::string in_words(const ParameterType& type) {
  return without_nothing(type) + (type.may_be_nothing ? ", or ~ for none" : "");
}

}  // namespace lockstep
