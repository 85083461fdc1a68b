#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "import/shell_word.hpp"

namespace lockstep::importing {

/// The commands of a shell script (bash), one after the other, with the variables and lists that it sets put
/// in, `$(( ))` computed, quotes and continued lines resolved. Conditions and loops are not followed: their
/// commands stand in the order of the file. What the script does not know (`$1`, `$(command)`, variables of
/// the environment) stays as it is written, with its `$`.
/// @throws InputError for a quote or bracket without its end
[[nodiscard]] std::vector<ShellCommand> shell_commands(std::string_view text, const std::string& file);

/// The values of the script's variables and lists as words, for a script that another one reads
/// (`MODEL_OPTIONS="--num-layers 8 ..."`). @throws InputError as shell_commands()
[[nodiscard]] std::vector<ShellCommand> shell_lists(std::string_view text, const std::string& file);

}  // namespace lockstep::importing
