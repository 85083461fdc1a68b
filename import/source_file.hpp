#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/yaml_node.hpp"

namespace lockstep::importing {

/// A small text file of the user's.
struct SourceFile {
  std::string name;  ///< as the user gave it
  std::string text;
  /// Keys and values of JSON, TOML or YAML, with their places.
  std::optional<YamlNode> tree;

  /// The value of a key of the tree's root, null where there is none.
  [[nodiscard]] const YamlNode* root_key(const std::string& key) const;
  /// The lines without their ends.
  [[nodiscard]] std::vector<std::string_view> lines() const;
};

/// The file, with a tree where it is JSON (it begins with a brace), TOML (named so, or with tables in
/// brackets) or YAML (named so).
/// @throws InputError for what cannot be read, is no UTF-8 text, or is broken JSON, TOML or YAML
[[nodiscard]] SourceFile read_source(const std::string& name);

/// Reads standard input as read_source() reads a file. Its name says nothing: YAML is a mapping.
[[nodiscard]] SourceFile read_standard_input();

}  // namespace lockstep::importing
