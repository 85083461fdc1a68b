#pragma once

/// @file
/// Fills Specs (base/parameters.hpp) from YAML, strictly: an unknown, missing or repeated key, a quantity
/// without its unit and a value of the wrong type are errors, and all errors of a configuration are thrown at
/// once, as one InputError with file:line:column and what would be right.

#include <concepts>
#include <filesystem>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "base/config_path.hpp"
#include "base/field_types.hpp"
#include "base/parameters.hpp"
#include "base/parse_units.hpp"
#include "base/reading.hpp"
#include "base/yaml_document.hpp"

namespace lockstep {

/// A Spec with a member `SourceLocation at` is told there where its mapping is written, for problems that
/// only somebody sees who knows more than the Spec.
template <class T>
concept KnowsWhereItStands = Described<T> && requires(T& spec) {
  { spec.at } -> std::same_as<SourceLocation&>;
};

/// A Spec of a whole document that knows where in it a key belongs.
template <class T>
concept KnowsPlaces = Described<T> && requires(const std::string& key) {
  { T::place_of(key) } -> std::same_as<std::optional<std::string>>;
};

/// Reads one value; @p key names it in complaints. Complains instead of throwing.
template <class T>
void read_value(const YamlNode& node, const std::string& key, T& value, Reading& reading);

/// The visitor that reads one mapping.
class MappingReader {
 public:
  MappingReader(const YamlNode& mapping, Reading& reading) : mapping_{mapping}, reading_{reading} {}

  template <class Field>
  void required(const char* key, Field& field, const char* meaning) {
    if (const YamlNode* value = take(key)) {
      read_value(*value, key, field, reading_);
    } else {
      missing(key, meaning);
    }
  }

  template <class Field>
  void optional(const char* key, Field& field, std::type_identity_t<Field> fallback,
                const char* /*meaning*/) {
    if (const YamlNode* value = take(key)) {
      read_value(*value, key, field, reading_);
    } else {
      field = std::move(fallback);
    }
  }

  /// Complains of keys that nobody asked for.
  void reject_strangers() const;

 private:
  const YamlNode* take(const char* key);
  void missing(const char* key, const char* meaning) const;

  const YamlNode& mapping_;
  Reading& reading_;
  std::vector<std::string> known_;
};

namespace reader_detail {

bool expect(YamlNode::Kind kind, const YamlNode& node, const std::string& key, Reading& reading);
void complain_of_choice(const YamlNode& node, const std::string& key, const std::vector<std::string>& names,
                        Reading& reading);
void complain_of_check(const YamlNode& mapping, const std::invalid_argument& problem, Reading& reading);
void complain_of_value(const YamlNode& node, const std::string& key, const std::string& what,
                       Reading& reading);

template <Described Spec>
void read_mapping(const YamlNode& node, Spec& spec, Reading& reading) {
  const std::size_t before = reading.complaints();
  MappingReader visitor{node, reading};
  Spec::describe(visitor, spec);
  if constexpr (KnowsWhereItStands<Spec>) {
    spec.at = node.at;
  }
  visitor.reject_strangers();
  if constexpr (Checked<Spec>) {
    if (reading.complaints() == before) {
      try {
        spec.check();
      } catch (const std::invalid_argument& problem) {
        complain_of_check(node, problem, reading);
      }
    }
  }
}

/// Reads the mapping that a shorthand stands for. False: @p node is no shorthand of the Spec.
template <Described Spec>
bool read_long_form(const YamlNode& node, const std::string& key, Spec& spec, Reading& reading) {
  if constexpr (HasLongForm<Spec>) {
    try {
      const std::optional<YamlNode> mapping = in_long_form(node, &Spec::long_form, reading.configs());
      if (mapping) {
        read_mapping(*mapping, spec, reading);
      }
      return mapping.has_value();
    } catch (const std::invalid_argument& problem) {
      complain_of_value(node, key, problem.what(), reading);
      return true;
    }
  }
  return false;
}

template <Described Spec>
void read_spec(const YamlNode& node, const std::string& key, Spec& spec, Reading& reading) {
  if constexpr (HasShorthand<Spec>) {
    if (node.kind == YamlNode::Kind::Scalar) {
      try {
        spec = Spec::parse(node.scalar);
      } catch (const std::invalid_argument& problem) {
        complain_of_value(node, key, problem.what(), reading);
      }
      return;
    }
  }
  if (!read_long_form(node, key, spec, reading) && expect(YamlNode::Kind::Mapping, node, key, reading)) {
    read_mapping(node, spec, reading);
  }
}

template <NamedEnum Enum>
bool find_name(const std::string& text, Enum& value) {
  for (const auto& [candidate, name] : names_of(Enum{})) {
    if (text == name) {
      value = candidate;
      return true;
    }
  }
  return false;
}

template <class Map>
void read_map(const YamlNode& node, const std::string& key_of_map, Map& map, Reading& reading) {
  using Key = typename Map::key_type;
  map.clear();
  for (const YamlEntry& entry : node.entries) {
    Key key{};
    if constexpr (NamedEnum<Key>) {
      const YamlNode name = yaml_node(YamlNode::Kind::Scalar, entry.at, entry.key);
      read_value(name, key_of_map, key, reading);
    } else {
      key = entry.key;
    }
    read_value(entry.value, entry.key, map[key], reading);
  }
}

}  // namespace reader_detail

template <class T>
void read_value(const YamlNode& node, const std::string& key, T& value, Reading& reading) {
  using namespace reader_detail;
  if constexpr (Described<T>) {
    read_spec(node, key, value, reading);
  } else if constexpr (std::is_same_v<T, YamlNode>) {
    value = node;
  } else if constexpr (is_named<T>) {
    if (read_long_form(node, key, value.value, reading)) {
      value.name.clear();
      return;
    }
    reading.named(decltype(value.value)::kConfigKind, node,
                  [&](const YamlNode& found, const std::string& name) {
                    value.name = name;
                    if (expect(YamlNode::Kind::Mapping, found, key, reading)) {
                      read_mapping(found, value.value, reading);
                    }
                  });
  } else if constexpr (is_optional<T>) {
    value.reset();
    if (node.kind != YamlNode::Kind::Null) {
      read_value(node, key, value.emplace(), reading);
    }
  } else if constexpr (is_vector<T>) {
    if (expect(YamlNode::Kind::Sequence, node, key, reading)) {
      value.clear();
      for (const YamlNode& item : node.items) {
        typename T::value_type element{};
        read_value(item, key, element, reading);
        value.push_back(std::move(element));
      }
    }
  } else if constexpr (is_map<T>) {
    if (expect(YamlNode::Kind::Mapping, node, key, reading)) {
      read_map(node, key, value, reading);
    }
  } else if constexpr (NamedEnum<T>) {
    if (expect(YamlNode::Kind::Scalar, node, key, reading) && !find_name(node.scalar, value)) {
      complain_of_choice(node, key, all_names_of<T>(), reading);
    }
  } else if (expect(YamlNode::Kind::Scalar, node, key, reading)) {
    try {
      parse(node.scalar, value);
    } catch (const std::invalid_argument& problem) {
      complain_of_value(node, key, problem.what(), reading);
    }
  }
}

/// A Spec from a document. @throws InputError with everything that is wrong
template <Described Spec>
Spec read_document(const YamlDocument& document, const ConfigPath& configs = ConfigPath::standard()) {
  Spec spec{};
  Reading reading{configs};
  if constexpr (KnowsPlaces<Spec>) {
    reading.know_places(&Spec::place_of);
  }
  reading.document(document, [&](const YamlNode& root) {
    if (reader_detail::expect(YamlNode::Kind::Mapping, root, "", reading)) {
      reader_detail::read_mapping(root, spec, reading);
    }
  });
  reading.finish();
  return spec;
}

/// A Spec from a file; configurations it names are also looked for beside it. @throws InputError
template <Described Spec>
Spec read_file(const std::filesystem::path& path, const ConfigPath& configs = ConfigPath::standard()) {
  return read_document<Spec>(YamlDocument::from_file(path), configs.beside(path.parent_path()));
}

/// A Spec from text; @p file_name is for messages and for what includes are relative to. @throws InputError
template <Described Spec>
Spec read_text(const std::string& text, const std::string& file_name,
               const ConfigPath& configs = ConfigPath::standard()) {
  return read_document<Spec>(YamlDocument::from_text(text, file_name), configs);
}

}  // namespace lockstep
