#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/yaml_node.hpp"
#include "import/draft.hpp"

namespace lockstep::importing {

/// A key of a file and its value. An option without a value has the value `true`.
struct Setting {
  std::string key;    ///< as words know it: `num-layers`, `training.seq_len`
  std::string shown;  ///< as the file writes it: `--num-layers`
  YamlNode value;     ///< at: its place
};

/// All keys of a file. A key given twice counts the last time, as programs take it.
class Settings {
 public:
  /// Keys of mappings within mappings are joined by points; lists are values.
  static Settings of_tree(const YamlNode& root);

  void add(Setting setting);

  /// The setting of a key, null where the file has none. It counts as used from then on.
  [[nodiscard]] const Setting* use(std::string_view key);
  /// Whether the file has the key, with another value than null, `false`, `none` or "".
  [[nodiscard]] bool is_on(std::string_view key);
  /// @throws InputError for what is no whole number
  [[nodiscard]] std::optional<std::int64_t> whole_number(std::string_view key);
  /// The text of a scalar, "" where the file has none.
  [[nodiscard]] std::string text(std::string_view key);

  /// Takes back that a key was used.
  void forget(std::string_view key);

  [[nodiscard]] std::vector<const Setting*> unused() const;

 private:
  std::vector<Setting> settings_;
  std::set<std::string, std::less<>> used_;
};

/// Place and name of a setting, for Draft::set().
[[nodiscard]] Source source_of(const Setting& setting);

/// @throws InputError with the place for what is no whole number of at most 10^12
[[nodiscard]] std::int64_t whole_number_of(const Setting& setting);

/// Whether a value turns something on: not null, `false`, `no`, `none`, `0` or "".
[[nodiscard]] bool turns_on(const YamlNode& value);

}  // namespace lockstep::importing
