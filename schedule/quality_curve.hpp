#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/yaml_document.hpp"

namespace lockstep {

/// A user's own word on the quality after each phase, as it stands in a CSV file with the columns phase and
/// quality. It is carried through and never computed with.
/// @param phases names, in order
/// @param at where the scenario names the file
/// @throws InputError for a file that cannot be read, a phase it does not have or that the schedule has not
[[nodiscard]] std::vector<std::string> quality_of_phases(const std::filesystem::path& file,
                                                         const std::vector<std::string>& phases,
                                                         const SourceLocation& at);

/// A user's curve of quality over the kept share, at @p shares: columns share and quality, in growing order
/// of share; a straight line between neighbours.
/// @throws InputError for a file that cannot be read or is not in order; at @p at for a share beyond its ends
[[nodiscard]] std::vector<double> quality_of_shares(const std::filesystem::path& file,
                                                    const std::vector<double>& shares,
                                                    const SourceLocation& at);

/// A file that the scenario names, from the folder of the scenario's own file.
[[nodiscard]] std::filesystem::path file_beside(const YamlDocument& document, const SourceLocation& at,
                                                const std::string& name);

}  // namespace lockstep
