#pragma once

/// @file
/// Parameters are declared once, in the `describe` of the Spec that holds them:
///
///   struct LinkSpec {
///     BytesPerSecond bandwidth;
///     Seconds latency;
///     Precision precision;              // an enum
///
///     template <class Visitor>
///     static void describe(Visitor& key, LinkSpec& link) {
///       key.required("bandwidth", link.bandwidth, "of one direction, e.g. 25 GB/s");
///       key.optional("latency", link.latency, Seconds{0}, "of the first byte");   // key, field, default,
///       meaning
///     }
///     void check() const;               // optional: std::invalid_argument or FieldError for what cannot be;
///                                       // not const where it keeps what it worked out
///     static LinkSpec parse(const std::string& text);   // optional: a scalar in place of the mapping;
///   };                                                  // throws std::invalid_argument
///
/// Where the mapping that a scalar stands for names other configurations, the Spec has instead of parse()
///
///     static std::optional<YamlNode> long_form(const YamlNode& scalar, const ConfigPath& configs);
///                    // the mapping; std::nullopt when the scalar is not a shorthand. Throws as parse()
///
/// The strict reader, `lockstep explain`, the JSON Schema and the effective configuration all visit it.
/// `describe` must visit the same keys whatever the fields hold.
///
/// Field types: std::string, bool, int, std::int64_t, std::uint64_t, double, the quantities of
/// base/units.hpp, enums (below), Specs, std::vector<T>, std::map<K, T> with K a std::string or an enum (any
/// comparator), std::optional<T> (`~` is std::nullopt), Named<T> (base/named.hpp), YamlNode (any YAML, kept
/// as it is written).

#include <array>
#include <concepts>
#include <cstdint>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/units.hpp"

namespace lockstep {

/// The names of an enum are found by argument-dependent lookup, in the namespace of the enum:
///
///   constexpr auto names_of(Precision) {
///     return std::to_array<EnumName<Precision>>({{Precision::Fp32, "fp32"}, {Precision::Bf16, "bf16"}});
///   }
template <class Enum>
struct EnumName {
  Enum value;
  const char* name;
};

template <class T>
concept NamedEnum = std::is_enum_v<T> && requires(T value) {
  names_of(value);
};

/// The error that a check() throws to point at one key of its mapping, or with a path (`links.2.connect`,
/// items count from 0) into it. Becomes an InputError at that place.
class FieldError : public std::invalid_argument {
 public:
  FieldError(std::string key, const std::string& message)
      : std::invalid_argument{message}, key_{std::move(key)} {}

  [[nodiscard]] const std::string& key() const { return key_; }

 private:
  std::string key_;
};

/// The calls that a `describe` may make, as a type: the least visitor.
struct ParameterVisitor {
  template <class Field>
  void required(const char* key, Field& field, const char* meaning);

  /// The type of the default is that of the field, so that 0, {} and std::nullopt will do.
  template <class Field>
  void optional(const char* key, Field& field, std::type_identity_t<Field> fallback, const char* meaning);
};

template <class T>
concept Described = requires(ParameterVisitor& key, T& spec) {
  T::describe(key, spec);
};

template <class T>
concept HasShorthand = Described<T> && requires(const std::string& text) {
  { T::parse(text) } -> std::same_as<T>;
};

struct YamlNode;   // base/yaml_node.hpp
class ConfigPath;  // base/config_path.hpp

template <class T>
concept HasLongForm = Described<T> && requires(const YamlNode& scalar, const ConfigPath& configs) {
  T::long_form(scalar, configs);
};

template <class T>
concept Checked = Described<T> && requires(T& spec) {
  spec.check();
};

/// The name of an enumerator. @throws std::logic_error when names_of() forgot it
template <NamedEnum Enum>
std::string name_of(Enum value) {
  for (const auto& [candidate, name] : names_of(value)) {
    if (candidate == value) {
      return name;
    }
  }
  throw std::logic_error{"an enumerator without a name"};
}

/// All names of an enum, in the order of names_of().
template <NamedEnum Enum>
std::vector<std::string> all_names_of() {
  std::vector<std::string> names;
  for (const auto& [value, name] : names_of(Enum{})) {
    names.emplace_back(name);
  }
  return names;
}

}  // namespace lockstep
