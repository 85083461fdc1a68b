#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/error.hpp"

namespace lockstep {

/// A user's own word on the quality after each phase, as it stands in a CSV file with the columns phase and
/// quality. It is carried through and never computed with.
/// @param phases names, in order
/// @param at where the scenario names the file
/// @throws InputError for a file that cannot be read, a phase it does not have or that the schedule has not
[[nodiscard]] std::vector<std::string> quality_of_phases(const std::filesystem::path& file,
                                                         const std::vector<std::string>& phases,
                                                         const SourceLocation& at);

}  // namespace lockstep
