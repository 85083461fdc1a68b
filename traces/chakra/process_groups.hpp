#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace lockstep::chakra {

/// The process groups that collectives name (`pg_name`), as a file beside the traces lists them: a JSON
/// object,
/// `{"1": [0, 1, 2, 3], "2": [4, 5, 6, 7]}`. The group of all ranks has no name there. Files of
/// `lockstep export --fold` say besides what the shared traces cannot: `"names": ["tp", "tp"]`, by group,
/// and `"of_ranks": [[1], [1], ...]`, the groups of each rank in the order of its Program.
class ProcessGroups {
 public:
  ProcessGroups() = default;

  /// @throws InputError when the file is missing, no such JSON, or lists a rank twice or beyond @p ranks
  static ProcessGroups from_file(const std::filesystem::path& path, std::uint32_t ranks);

  /// Null: no group has that name.
  [[nodiscard]] const std::vector<std::uint32_t>* find(const std::string& name) const;

  /// Groups of a rank whose trace is shared, by Program::groups.
  /// @throws std::invalid_argument when the file does not say as many as @p count
  [[nodiscard]] const std::vector<std::uint32_t>& of_rank(std::uint32_t rank, std::size_t count) const;
  /// The name of a group of shared traces. @throws std::invalid_argument for one without a name
  [[nodiscard]] const std::string& name_of(std::uint32_t number) const;

 private:
  std::map<std::string, std::vector<std::uint32_t>> ranks_of_;
  std::vector<std::vector<std::uint32_t>> of_ranks_;
  std::vector<std::string> names_;
};

}  // namespace lockstep::chakra
