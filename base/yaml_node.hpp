#pragma once

#include <string>
#include <vector>

#include "base/error.hpp"

namespace lockstep {

struct YamlEntry;

/// One value of a YAML document and where it was written. Plain structure: aliases, merge keys and
/// includes are resolved before it exists (base/yaml_document.hpp).
struct YamlNode {
  enum class Kind { Null, Scalar, Sequence, Mapping };

  Kind kind = Kind::Null;
  SourceLocation at;
  std::string scalar;              ///< of a Scalar
  std::vector<YamlNode> items;     ///< of a Sequence
  std::vector<YamlEntry> entries;  ///< of a Mapping, in the order of the file, keys unique

  /// The entry of a key, nullptr where there is none.
  [[nodiscard]] const YamlEntry* find(const std::string& key) const;
  [[nodiscard]] YamlEntry* find(const std::string& key);
};

struct YamlEntry {
  std::string key;
  SourceLocation at;  ///< of the key
  YamlNode value;
};

/// A node of its kind without content, or a Scalar with @p scalar.
YamlNode yaml_node(YamlNode::Kind kind, SourceLocation at, std::string scalar = "");

/// For messages: "a mapping", "a list", "the text 'abc'", "nothing".
std::string in_words(const YamlNode& node);

/// Merges @p over with @p under, which counts where @p over says nothing. Mappings are merged key by
/// key, at every depth; any other value of @p over replaces that of @p under.
YamlNode overlaid(YamlNode under, YamlNode over);

}  // namespace lockstep
