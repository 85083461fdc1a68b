#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/config_path.hpp"
#include "base/error.hpp"
#include "base/yaml_document.hpp"

namespace lockstep {

/// The offer of a Spec where a scalar may stand for a mapping (base/parameters.hpp).
using LongForm = std::optional<YamlNode> (*)(const YamlNode& scalar, const ConfigPath& configs);

/// The mapping that @p node stands for as a shorthand, or as a mapping `{from: SHORTHAND, ...}` that changes
/// it in part. std::nullopt: it is none. @throws std::invalid_argument for a malformed one
std::optional<YamlNode> in_long_form(const YamlNode& node, LongForm long_form, const ConfigPath& configs);

/// One reading of a configuration and of the files it names: where they are found, and all that is wrong.
class Reading {
 public:
  explicit Reading(const ConfigPath& configs) : configs_{configs} {}

  /// Hands over the root of a document. What is wrong with its files is reported with the chain of includes
  /// that led to them.
  void document(const YamlDocument& document, const std::function<void(const YamlNode&)>& read);

  /// Hands over what a Named<T> stands for (base/named.hpp) and its name, "" for a mapping in place;
  /// complains of a name or file that cannot be had.
  void named(const std::string& kind, const YamlNode& node,
             const std::function<void(const YamlNode&, const std::string& name)>& read);

  [[nodiscard]] const ConfigPath& configs() const { return configs_; }

  /// Tells where in a document a key belongs: the path of the mapping that has it ("" for the document's
  /// own), std::nullopt for a key that no mapping has.
  using PlaceOf = std::function<std::optional<std::string>(const std::string& key)>;
  void know_places(PlaceOf place_of) { place_of_ = std::move(place_of); }

  /// The end of the message about a key that stands in the wrong mapping of the first document; "" for
  /// others.
  [[nodiscard]] std::string place_hint(const std::string& key) const;

  void complain(const SourceLocation& where, const std::string& message);
  [[nodiscard]] std::size_t complaints() const { return problems_.size(); }

  /// @throws InputError with all complaints, file by file in the order of lines, if there are any
  void finish();

 private:
  struct Open {
    const YamlDocument* document;
    SourceLocation named_at;
  };

  [[nodiscard]] std::string file_of(const std::string& kind, const YamlNode& name) const;
  void read_from(const std::string& file, const YamlNode& name,
                 const std::function<void(const YamlNode&)>& read);
  void open(const YamlDocument& document, const SourceLocation& named_at,
            const std::function<void(const YamlNode&)>& read);

  const ConfigPath& configs_;
  PlaceOf place_of_;
  std::vector<Open> open_;
  std::vector<Problem> problems_;
};

}  // namespace lockstep
