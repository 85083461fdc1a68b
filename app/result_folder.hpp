#pragma once

#include <filesystem>
#include <string>

namespace lockstep {

/// Where the results of a command go: what the user says, else `lockstep-out/NAME` after the scenario's
/// folder, or its file where that is not called scenario.yaml.
[[nodiscard]] std::filesystem::path result_folder(const std::string& given,
                                                  const std::filesystem::path& scenario);

}  // namespace lockstep
