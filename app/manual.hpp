#pragma once

#include <string>

namespace CLI {  // NOLINT(readability-identifier-naming): theirs
class App;
}

namespace lockstep {

/// The manual page of a command line, in man's format: every command with its options and examples.
[[nodiscard]] std::string manual_page(const CLI::App& app, const std::string& version);

/// A completion script: commands, their options and, where a scenario is taken, the shipped ones.
/// @param shell bash, zsh or fish
/// @throws std::invalid_argument naming the three for another shell
[[nodiscard]] std::string completion_script(const CLI::App& app, const std::string& shell);

}  // namespace lockstep
