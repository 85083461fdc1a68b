#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "ops/program.hpp"

namespace lockstep::chakra {

/// One rank's trace, as trace_of_rank() writes it.
struct RankProgram {
  Program program;
  bool is_shared = false;                ///< by ranks that do alike: names no group (ProcessGroups::of_rank)
  std::vector<std::string> pg_names;     ///< by Program::groups: which process group
  std::vector<std::string> group_names;  ///< likewise: what the Job calls it
};

/// Kernels are Timed as recorded; copies over PCIe are copies again, which share links.
/// @throws InputError: what RecordReader rejects; an attribute missing or out of bounds; nodes that do not
/// stand in
///   the order of their ids; a launch without what it launches
[[nodiscard]] RankProgram read_program(const std::filesystem::path& path);

}  // namespace lockstep::chakra
