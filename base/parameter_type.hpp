#pragma once

#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "base/field_types.hpp"
#include "base/parameters.hpp"
#include "base/parse_units.hpp"
#include "base/reading.hpp"
#include "base/yaml_value.hpp"

namespace lockstep {

struct Parameter;

/// The values that a field may hold, as data: `explain`, the JSON Schema and the effective configuration are
/// made of them.
struct ParameterType {
  enum class Kind { Text, Truth, Integer, Number, Quantity, Choice, Mapping, List, Table, Anything };

  Kind kind = Kind::Text;
  bool may_be_nothing = false;         ///< std::optional: `~` is allowed
  bool may_be_negative = true;         ///< of an Integer
  bool has_shorthand = false;          ///< of a Mapping: a scalar may stand for it
  LongForm long_form = nullptr;        ///< of a Mapping: what tells which scalars stand for which mapping
  std::string config_kind;             ///< of a Mapping that may be named: folder in configs/, else ""
  UnitFamily units;                    ///< of a Quantity
  std::vector<std::string> choices;    ///< of a Choice; the keys of a Table where they are an enum
  std::vector<Parameter> parameters;   ///< of a Mapping, in the order of its describe()
  std::vector<ParameterType> element;  ///< of a List or Table: one
};

struct Parameter {
  std::string key;
  ParameterType type;
  bool required = false;
  YamlNode fallback;  ///< the default, where it is not required
  std::string meaning;
};

/// In words, with the units or choices: "a time (s, ms, us, ns, min, h)", "list of mappings".
std::string in_words(const ParameterType& type);

/// The shortest path to a mapping below @p root that has @p key, at most three keys deep: `workload`,
/// `workload.model`; "" for the root. std::nullopt: none has it.
std::optional<std::string> place_of(const ParameterType& root, const std::string& key);

template <class T>
ParameterType type_of();

/// The visitor that lists the parameters of a Spec.
class ParameterLister {
 public:
  template <class Field>
  void required(const char* key, const Field& /*field*/, const char* meaning) {
    parameters.push_back({key, type_of<Field>(), true, {}, meaning});
  }

  template <class Field>
  void optional(const char* key, const Field& /*field*/, const std::type_identity_t<Field>& fallback,
                const char* meaning) {
    parameters.push_back({key, type_of<Field>(), false, yaml_of(fallback), meaning});
  }

  std::vector<Parameter> parameters;
};

template <class T>
ParameterType type_of() {
  using Kind = ParameterType::Kind;
  ParameterType type;
  if constexpr (Described<T>) {
    ParameterLister lister;
    T spec{};
    T::describe(lister, spec);
    type.kind = Kind::Mapping;
    type.parameters = std::move(lister.parameters);
    type.has_shorthand = HasShorthand<T> || HasLongForm<T>;
    if constexpr (HasLongForm<T>) {
      type.long_form = &T::long_form;
    }
  } else if constexpr (std::is_same_v<T, YamlNode>) {
    type.kind = Kind::Anything;
  } else if constexpr (is_named<T>) {
    type = type_of<decltype(T::value)>();
    type.has_shorthand = type.long_form != nullptr;  // a plain shorthand would be taken for a name
    type.config_kind = decltype(T::value)::kConfigKind;
  } else if constexpr (is_optional<T>) {
    type = type_of<typename T::value_type>();
    type.may_be_nothing = true;
  } else if constexpr (is_vector<T>) {
    type.kind = Kind::List;
    type.element = {type_of<typename T::value_type>()};
  } else if constexpr (is_map<T>) {
    type.kind = Kind::Table;
    type.element = {type_of<typename T::mapped_type>()};
    if constexpr (NamedEnum<typename T::key_type>) {
      type.choices = all_names_of<typename T::key_type>();
    }
  } else if constexpr (NamedEnum<T>) {
    type.kind = Kind::Choice;
    type.choices = all_names_of<T>();
  } else if constexpr (is_quantity<T>) {
    type.kind = Kind::Quantity;
    type.units = unit_family(T{});
  } else if constexpr (std::is_same_v<T, bool>) {
    type.kind = Kind::Truth;
  } else if constexpr (std::is_integral_v<T>) {
    type.kind = Kind::Integer;
    type.may_be_negative = std::is_signed_v<T>;
  } else if constexpr (std::is_same_v<T, double>) {
    type.kind = Kind::Number;
  } else {
    static_assert(std::is_same_v<T, std::string>, "not a type of field: see base/parameters.hpp");
  }
  return type;
}

}  // namespace lockstep
