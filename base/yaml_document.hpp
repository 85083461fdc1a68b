#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/yaml_node.hpp"

namespace lockstep {

/// A YAML file as one tree: what it includes is merged in, aliases and merge keys are resolved.
///
///   include: common.yaml             # or a list; relative to this file; top level only
///   workload: { <<: *small, batch: 4 }   # merge key: keys written here win, then the first listed
///
/// What the including file says wins over what it includes, a later include over an earlier one;
/// mappings are merged key by key, lists and scalars are replaced. Keys are unique: a key given twice
/// in one mapping is among problems(), which the reader of the document reports with its own.
class YamlDocument {
 public:
  /// @throws InputError: missing file, syntax error, include that fails or goes round in a circle
  static YamlDocument from_file(const std::filesystem::path& path);

  /// Includes are relative to the folder of @p file_name. @throws InputError as from_file()
  static YamlDocument from_text(const std::string& text, const std::string& file_name);

  /// Overrides one value, as `--set parallelism.dense=data` does; @p value is YAML (a list may be given).
  /// Mappings on the way are made where missing; the items of a list are numbered from 0. A part of a
  /// named configuration can be set too: `gpu: a100` and `gpu.memory` make `gpu: {from: a100, memory: ...}`.
  /// The origin of the value becomes `--set KEY`.
  /// @throws InputError when the path is malformed or leads past the end of a list, or @p value is not YAML
  void set(const std::string& key_path, const std::string& value);

  /// The same with a value that was read elsewhere: its place is the origin.
  /// @throws InputError when the path is malformed or leads past the end of a list
  void set(const std::string& key_path, YamlNode value);

  /// The value that `--set KEY=VALUE` gives, with that as its origin. @throws InputError for no YAML
  static YamlNode value_of_set(const std::string& key_path, const std::string& value);

  /// Takes a top-level key out of the document. @return its entry, std::nullopt where it has none
  std::optional<YamlEntry> take(const std::string& key);

  [[nodiscard]] const YamlNode& root() const { return root_; }
  [[nodiscard]] const std::vector<Problem>& problems() const { return problems_; }

  /// True for the document's own file and for the files it includes.
  [[nodiscard]] bool covers(const std::string& file) const {
    return file == file_ || included_from_.contains(file);
  }

  /// ` (included from a.yaml:1:10, included from ...)` for a value of an included file, else "".
  [[nodiscard]] std::string inclusion_of(const std::string& file) const;

 private:
  YamlDocument() = default;
  friend class YamlLoader;
  YamlNode& place_of(const std::string& key_path, const SourceLocation& origin);

  std::string file_;
  YamlNode root_;
  std::vector<Problem> problems_;
  std::map<std::string, SourceLocation> included_from_;  ///< by included file
};

}  // namespace lockstep
