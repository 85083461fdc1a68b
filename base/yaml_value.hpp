#pragma once

#include <string>
#include <type_traits>

#include "base/field_types.hpp"
#include "base/parameters.hpp"
#include "base/parse_units.hpp"
#include "base/yaml_node.hpp"

namespace lockstep {

/// A value as the YAML from which the reader makes the same bits again.
template <class T>
YamlNode yaml_of(const T& value);

/// The visitor that writes one mapping.
class MappingWriter {
 public:
  template <class Field>
  void required(const char* key, const Field& field, const char* /*meaning*/) {
    YamlNode value = yaml_of(field);  // first: GCC 12 warns of entries that an exception leaves half made
    mapping.entries.push_back({key, {}, std::move(value)});
  }

  template <class Field>
  void optional(const char* key, const Field& field, const std::type_identity_t<Field>& /*fallback*/,
                const char* meaning) {
    required(key, field, meaning);
  }

  YamlNode mapping = yaml_node(YamlNode::Kind::Mapping, {});
};

/// The visitor that writes of a mapping what is not the default.
class ChangeWriter : public MappingWriter {
 public:
  template <class Field>
  void optional(const char* key, const Field& field, const std::type_identity_t<Field>& fallback,
                const char* meaning) {
    if (!(field == fallback)) {
      required(key, field, meaning);
    }
  }
};

/// A mapping from which the reader makes the same Spec again, without what it has by default.
template <Described Spec>
YamlNode changes_of(const Spec& value) {
  ChangeWriter writer;
  Spec copy = value;  // as in yaml_of()
  Spec::describe(writer, copy);
  return std::move(writer.mapping);
}

template <class T>
YamlNode yaml_of(const T& value) {
  const auto scalar = [](std::string text) { return yaml_node(YamlNode::Kind::Scalar, {}, std::move(text)); };
  if constexpr (Described<T>) {
    MappingWriter writer;
    T copy = value;  // describe() takes what it visits by reference, to read into it
    T::describe(writer, copy);
    return std::move(writer.mapping);
  } else if constexpr (std::is_same_v<T, YamlNode>) {
    return value;
  } else if constexpr (is_named<T>) {
    return yaml_of(value.value);
  } else if constexpr (is_optional<T>) {
    return value ? yaml_of(*value) : YamlNode{};
  } else if constexpr (is_vector<T>) {
    YamlNode list = yaml_node(YamlNode::Kind::Sequence, {});
    for (auto&& item : value) {
      list.items.push_back(yaml_of<typename T::value_type>(item));
    }
    return list;
  } else if constexpr (is_map<T>) {
    YamlNode mapping = yaml_node(YamlNode::Kind::Mapping, {});
    for (const auto& [key, item] : value) {
      std::string name = yaml_of(key).scalar;
      YamlNode of_key = yaml_of(item);
      mapping.entries.push_back({std::move(name), {}, std::move(of_key)});
    }
    return mapping;
  } else if constexpr (NamedEnum<T>) {
    return scalar(name_of(value));
  } else if constexpr (is_quantity<T>) {
    return scalar(write_exactly(value));
  } else {
    return scalar(fmt::format("{}", value));  // text, true or false, shortest exact number
  }
}

}  // namespace lockstep
