#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace lockstep {

/// Finds configurations (`configs/<kind>/<name>.yaml`) and scenarios (`scenarios/<name>/scenario.yaml`) by
/// name. The first root that has a name wins.
class ConfigPath {
 public:
  explicit ConfigPath(std::vector<std::filesystem::path> roots) : roots_{std::move(roots)} {}

  /// The root $LOCKSTEP_HOME when it is set; else whichever of these exist: `../share/lockstep` and `..` seen
  /// from the executable, and the source tree this was built from.
  static ConfigPath standard();

  /// Looks first in `<folder>/<kind>/<name>.yaml`: configurations a scenario brings along.
  [[nodiscard]] ConfigPath beside(const std::filesystem::path& folder) const;

  /// The file of a configuration, e.g. ("gpus", "a100").
  /// @throws std::invalid_argument with the names there are, or the one that was meant
  [[nodiscard]] std::filesystem::path find(const std::string& kind, const std::string& name) const;

  /// The same, or the file itself where a path is given (`my_gpu.yaml`, `./my_gpu.yaml`), there or not.
  /// @throws std::invalid_argument as find()
  [[nodiscard]] std::filesystem::path find_or_file(const std::string& kind,
                                                   const std::string& name_or_path) const;

  /// A file of a root's `configs/`, `gpus/a100_40gb.yaml`. std::nullopt: there is none
  [[nodiscard]] std::optional<std::filesystem::path> find_part(const std::filesystem::path& relative) const;

  /// The file of a scenario: a shipped one by its name, any by its file or folder.
  /// @throws std::invalid_argument as find()
  [[nodiscard]] std::filesystem::path find_scenario(const std::string& name_or_path) const;

  /// A file as seen from the root it lies in (`configs/gpus/a100.yaml`): the same text on every machine.
  [[nodiscard]] std::string shown(const std::string& file) const;

  /// The folders that hold `configs/` or `scenarios/`.
  [[nodiscard]] const std::vector<std::filesystem::path>& roots() const { return roots_; }

  /// `: ...` where the shipped files were looked for, if they are nowhere; else "".
  [[nodiscard]] std::string missing_roots() const;

  [[nodiscard]] std::vector<std::string> kinds() const;                         ///< sorted
  [[nodiscard]] std::vector<std::string> names(const std::string& kind) const;  ///< sorted
  [[nodiscard]] std::vector<std::string> scenarios() const;                     ///< sorted

 private:
  [[nodiscard]] std::vector<std::filesystem::path> folders_of(const std::string& kind) const;
  std::vector<std::filesystem::path> roots_;
  std::vector<std::filesystem::path> beside_;
  std::vector<std::filesystem::path> looked_in_;  ///< where roots were looked for
};

/// True for what is a path rather than a name: it has a '/' or ends in .yaml or .yml.
bool is_path(const std::string& name_or_path);

}  // namespace lockstep
