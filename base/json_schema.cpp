#include "base/json_schema.hpp"

#include <fmt/format.h>

#include <map>
#include <utility>

#include "base/json_text.hpp"

namespace lockstep {
namespace {

using Kind = ParameterType::Kind;
using Members = std::vector<std::pair<std::string, std::string>>;

constexpr const char* kNumber = "[-]?([0-9]+[.]?[0-9]*|[.][0-9]+)([eE][-+]?[0-9]+)?";

std::string of_type(const char* name) {
  return json::object({{"type", json::text(name)}});
}

std::string any_of(const std::vector<std::string>& schemas) {
  return schemas.size() == 1 ? schemas.front() : json::object({{"anyOf", json::list(schemas)}});
}

std::string quantity(const UnitFamily& family) {
  std::vector<std::string> symbols;
  for (const Unit& unit : family.units) {
    symbols.push_back(unit.symbol);
  }
  const std::string pattern = fmt::format("^{} *({})$", kNumber, fmt::join(symbols, "|"));
  std::vector<std::string> choices{
      json::object({{"const", "0"}}),
      json::object({{"type", json::text("string")}, {"pattern", json::text(pattern)}})};
  if (family.may_be_unlimited) {
    choices.push_back(json::object({{"const", json::text("unlimited")}}));
  }
  return any_of(choices);
}

/// A default as JSON, typed as the parameter is.
std::string value(const ParameterType& type, const YamlNode& node) {
  const bool raw = type.kind == Kind::Truth || type.kind == Kind::Integer || type.kind == Kind::Number;
  Members members;
  std::vector<std::string> items;
  switch (node.kind) {
    case YamlNode::Kind::Null:
      return "null";
    case YamlNode::Kind::Scalar:
      return raw ? node.scalar : json::text(node.scalar);
    case YamlNode::Kind::Sequence:
      for (const YamlNode& item : node.items) {
        items.push_back(value(type.element.front(), item));
      }
      return json::list(items);
    case YamlNode::Kind::Mapping:
      for (std::size_t i = 0; i < node.entries.size(); ++i) {
        const ParameterType& of = type.kind == Kind::Table ? type.element.front() : type.parameters[i].type;
        members.emplace_back(node.entries[i].key, value(of, node.entries[i].value));
      }
  }
  return json::object(members);
}

/// A mapping, or something else: an editor judges a mapping by its keys alone, and underlines the key that is
/// wrong, not the whole mapping.
std::string mapping_or(const std::string& mapping, const std::vector<std::string>& others) {
  return others.empty()
             ? mapping
             : json::object({{"if", of_type("object")}, {"then", mapping}, {"else", any_of(others)}});
}

class SchemaWriter {
 public:
  explicit SchemaWriter(const ConfigPath& configs) : configs_{configs} {}

  std::string file(const ParameterType& type, const std::string& title) {
    const std::string names = any_of(
        {of_type("string"), json::object({{"type", json::text("array")}, {"items", of_type("string")}})});
    Members members{{"$schema", json::text("http://json-schema.org/draft-07/schema#")},
                    {"title", json::text(title)}};
    for (auto& member : in_part_or_whole(type, "include", names)) {
      members.push_back(std::move(member));
    }
    members.emplace_back("definitions", json::object({definitions_.begin(), definitions_.end()}));
    return json::indented(json::object(members));
  }

 private:
  std::string schema(const ParameterType& type) {
    std::vector<std::string> choices;
    if (type.may_be_nothing) {
      choices.push_back(of_type("null"));
    }
    if (type.kind == Kind::Mapping && !type.config_kind.empty()) {
      choices.push_back(json::object({{"$ref", json::text("#/definitions/" + named(type))}}));
    } else if (type.kind == Kind::Mapping) {
      if (type.has_shorthand) {
        choices.push_back(json::object({{"type", json::texts({"string", "number"})}}));
      }
      return mapping_or(json::object(mapping(type, {})), choices);
    } else {
      choices.push_back(plain(type));
    }
    return any_of(choices);
  }

  /// Defines once each type that can be named. Returns the name of the definition.
  std::string named(const ParameterType& type) {
    const std::string definition = type.config_kind + (in_part_ ? "_in_part" : "");
    if (definitions_.contains(definition)) {
      return definition;
    }
    std::vector<std::string> choices;
    const std::vector<std::string> names = configs_.names(type.config_kind);
    if (!names.empty()) {
      choices.push_back(json::object({{"enum", json::texts(names)}}));
    }
    choices.push_back(json::object({{"type", json::text("string")}, {"pattern", json::text("/|[.]ya?ml$")}}));
    if (type.has_shorthand) {
      choices.push_back(of_type("string"));
    }
    definitions_[definition] =
        mapping_or(json::object(in_part_or_whole(type, "from", of_type("string"))), choices);
    return definition;
  }

  std::string plain(const ParameterType& type) {
    switch (type.kind) {
      case Kind::Truth:
        return of_type("boolean");
      case Kind::Integer:
        return type.may_be_negative ? of_type("integer")
                                    : json::object({{"type", json::text("integer")}, {"minimum", "0"}});
      case Kind::Number:
        return of_type("number");
      case Kind::Quantity:
        return quantity(type.units);
      case Kind::Choice:
        return json::object({{"enum", json::texts(type.choices)}});
      case Kind::List:
        return json::object({{"type", json::text("array")}, {"items", schema(type.element.front())}});
      case Kind::Table:
        return table(type);
      case Kind::Anything:
        return "true";
      case Kind::Text:
      case Kind::Mapping:
        break;
    }
    // A text may be meant by what YAML takes for a number or a truth value (name: 8).
    return json::object({{"type", json::texts({"string", "number", "boolean"})}});
  }

  std::string table(const ParameterType& type) {
    Members members{{"type", json::text("object")}, {"additionalProperties", schema(type.element.front())}};
    if (!type.choices.empty()) {
      members.emplace_back("propertyNames", json::object({{"enum", json::texts(type.choices)}}));
    }
    return json::object(members);
  }

  /// A mapping that is whole, or that has the key @p elsewhere, which names a file: then any key, at every
  /// depth, may be left to that file.
  Members in_part_or_whole(const ParameterType& type, const std::string& elsewhere,
                           const std::string& value_schema) {
    const Members whole = mapping(type, {});
    const bool outer = std::exchange(in_part_, true);
    const Members part = mapping(type, {{elsewhere, value_schema}});
    in_part_ = outer;
    return {{"if", json::object({{"required", json::texts({elsewhere})}})},
            {"then", json::object(part)},
            {"else", json::object(in_part_ ? part : whole)}};
  }

  Members mapping(const ParameterType& type, Members properties) {
    std::vector<std::string> required;
    for (const Parameter& parameter : type.parameters) {
      properties.emplace_back(parameter.key, described(parameter));
      if (parameter.required) {
        required.push_back(parameter.key);
      }
    }
    Members members{{"type", json::text("object")}};
    if (!in_part_) {
      members.emplace_back("required", json::texts(required));
    }
    members.emplace_back("properties", json::object(properties));
    members.emplace_back("additionalProperties", "false");
    return members;
  }

  std::string described(const Parameter& parameter) {
    Members members{{"description", json::text(parameter.meaning + " - " + in_words(parameter.type))}};
    if (!parameter.required) {
      members.emplace_back("default", value(parameter.type, parameter.fallback));
    }
    members.emplace_back("allOf", json::list({schema(parameter.type)}));
    return json::object(members);
  }

  const ConfigPath& configs_;
  std::map<std::string, std::string> definitions_;  ///< by name
  bool in_part_ = false;                            ///< below a mapping of which a file gives the rest
};

}  // namespace

std::string json_schema(const ParameterType& type, const std::string& title, const ConfigPath& configs) {
  return SchemaWriter{configs}.file(type, title);
}

}  // namespace lockstep
