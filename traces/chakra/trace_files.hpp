#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <utility>

namespace lockstep::chakra {

/// The files of a job's traces: one a rank, whose number stands for `%d` in the name, or one for all ranks.
class TraceFiles {
 public:
  TraceFiles(const std::string& pattern, std::uint32_t ranks);

  [[nodiscard]] std::uint32_t ranks() const { return ranks_; }
  [[nodiscard]] std::filesystem::path path(std::uint32_t rank) const;

  /// An earlier rank with the very same file (the same name, or a hard link to it).
  /// @throws InputError when the rank has no file
  std::optional<std::uint32_t> same_as(std::uint32_t rank);

 private:
  std::string before_, after_;  ///< of the number
  bool one_for_all_;
  std::uint32_t ranks_;
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::uint32_t> known_;  ///< by device and inode
};

}  // namespace lockstep::chakra
