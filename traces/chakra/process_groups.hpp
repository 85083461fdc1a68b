#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace lockstep::chakra {

/// The process groups that collectives name (`pg_name`), as a file beside the traces lists them: a JSON
/// object,
/// `{"1": [0, 1, 2, 3], "2": [4, 5, 6, 7]}`. The group of all ranks has no name there.
class ProcessGroups {
 public:
  ProcessGroups() = default;

  /// @throws InputError when the file is missing, no such JSON, or lists a rank twice or beyond @p ranks
  static ProcessGroups from_file(const std::filesystem::path& path, std::uint32_t ranks);

  /// Null: no group has that name.
  [[nodiscard]] const std::vector<std::uint32_t>* find(const std::string& name) const;

 private:
  std::map<std::string, std::vector<std::uint32_t>> ranks_of_;
};

}  // namespace lockstep::chakra
