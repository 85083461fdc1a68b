#pragma once

#include <string>
#include <string_view>

namespace lockstep {

/// Why a command has no `--json` or `-o`, in a sentence; "" for one that has it, or another option.
/// @param command full name, e.g. `calibrate fit`
[[nodiscard]] std::string why_without(std::string_view command, std::string_view option);

}  // namespace lockstep
