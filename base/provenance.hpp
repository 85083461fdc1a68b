#pragma once

/// @file
/// Where a number of a configuration comes from, said beside it:
///
///   sm_count: 108
///   launch_to_start: 1.7 us
///   provenance:
///     sm_count: measured, NVIDIA A100 data sheet
///     launch_to_start: { is: fitted, source: ..., error: 0.06, range: 1 KiB to 1 GiB }

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/field_types.hpp"
#include "base/parameters.hpp"
#include "base/suggest.hpp"

namespace lockstep {

/// Best first, so that the worse of two is the greater.
enum class Provenance : std::uint8_t {
  Measured,  ///< read off measurements of this very machine, or stated by its maker
  Fitted,    ///< the value with which a formula comes closest to measurements of this very machine
  Derived,   ///< by a stated rule from something else: another machine, a table of a library, a data sheet
  Guessed,   ///< none of these, or not said
};

constexpr auto names_of(Provenance /*unused*/) {
  return std::to_array<EnumName<Provenance>>({{Provenance::Measured, "measured"},
                                              {Provenance::Fitted, "fitted"},
                                              {Provenance::Derived, "derived"},
                                              {Provenance::Guessed, "guessed"}});
}

/// True for a number that measurements of the machine itself support.
[[nodiscard]] constexpr bool is_own(Provenance provenance) {
  return provenance <= Provenance::Fitted;
}

/// The support for a number.
struct Evidence {
  Provenance is = Provenance::Guessed;
  std::string source;
  /// Mean absolute relative error of what is predicted with the number, on measurements that it was not
  /// fitted to.
  std::optional<double> error;
  /// Mean absolute relative difference between machines of this kind, where a file serves them all. Nothing
  /// in a file of one machine.
  std::optional<double> machines;
  std::string range;

  template <class Visitor>
  static void describe(Visitor& key, Evidence& of) {
    key.required("is", of.is, "what the number rests on");
    key.required("source", of.source, "paper, data sheet, measurement or rule");
    key.optional("error", of.error, std::nullopt,
                 "mean absolute relative error of predictions with it, where it was not fitted, e.g. 0.02");
    key.optional("machines", of.machines, std::nullopt,
                 "mean absolute relative difference between machines of this kind, e.g. 0.06");
    key.optional("range", of.range, {}, "in which it was fitted or checked, in words");
  }
  /// `fitted, SOURCE`. @throws std::invalid_argument for a first word that is no provenance
  static Evidence parse(const std::string& text);
  /// @throws FieldError for an empty source, an error or a difference below 0
  void check() const;
};

/// The beginning of the source of a number that a scenario or an including file sets without saying why
/// (base/changed_configuration.hpp); the place follows.
inline constexpr std::string_view kSetAnew = "set at ";
[[nodiscard]] inline bool is_set_anew(const Evidence& evidence) {
  return evidence.is == Provenance::Guessed && evidence.source.starts_with(kSetAnew);
}

/// Evidence by the key of a parameter, or of a mapping for all that it holds: the longest key counts.
using ProvenanceTable = std::map<std::string, Evidence>;

/// The evidence for the parameter at @p key_path (`ring.Simple.base`). Guessed where nothing is said.
[[nodiscard]] const Evidence& evidence_for(const ProvenanceTable& table, const std::string& key_path);

/// Half of the 90 % interval around what is predicted with a number, relative: of normally distributed errors
/// 1.645 / 0.798 times their mean size, the root of the squares of `error` and `machines`. An error that is
/// not known is taken as 3 % of a measured, 10 % of a fitted, 20 % of a derived and 40 % of a guessed number
/// (docs/trust.md).
[[nodiscard]] double half_width(const Evidence& evidence);

/// The visitor that looks for a parameter by its key, `ring.Simple.base`.
class ParameterSearch {
 public:
  explicit ParameterSearch(const std::string& key_path)
      : key_{key_path.substr(0, key_path.find('.'))},
        rest_{key_.size() < key_path.size() ? key_path.substr(key_.size() + 1) : std::string{}} {}

  template <class Field>
  void required(const char* key, const Field& /*field*/, const char* /*meaning*/) {
    known.emplace_back(key);
    found = found || (key_ == key && holds<Field>(rest_));
  }

  template <class Field>
  void optional(const char* key, const Field& field, const std::type_identity_t<Field>& /*fallback*/,
                const char* meaning) {
    required(key, field, meaning);
  }

  bool found = false;
  std::vector<std::string> known;  ///< keys of the Spec

 private:
  template <class Field>
  static bool holds(const std::string& key_path) {
    if constexpr (is_optional<Field>) {
      return holds<typename Field::value_type>(key_path);
    } else if constexpr (is_named<Field>) {
      return holds<decltype(Field::value)>(key_path);
    } else if constexpr (Described<Field>) {
      ParameterSearch search{key_path};
      Field spec{};
      Field::describe(search, spec);
      return key_path.empty() || search.found;
    } else {
      return key_path.empty() || is_map<Field>;  // a table's keys are the file's own
    }
  }

  std::string key_;
  std::string rest_;
};

/// @throws FieldError for a key that is no parameter of @p Spec
template <Described Spec>
void check_keys(const ProvenanceTable& table) {
  for (const auto& [key_path, evidence] : table) {
    ParameterSearch search{key_path};
    Spec spec{};
    Spec::describe(search, spec);
    if (!search.found) {
      const std::string first = key_path.substr(0, key_path.find('.'));
      throw FieldError{"provenance", "no parameter '" + key_path + "'" + did_you_mean(first, search.known)};
    }
  }
}

}  // namespace lockstep
