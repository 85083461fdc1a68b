#pragma once

namespace CLI {  // NOLINT(readability-identifier-naming): theirs
class App;
}

namespace lockstep {

/// Help with examples first; call it before commands are added, which inherit it.
void show_examples_first(CLI::App& app);

/// Registers --version, and --json for what it is told with: the program, its libraries, where it finds
/// files.
void add_version(CLI::App& app);

/// Parses the command line; `help COMMAND` is `COMMAND --help`. What cannot be understood is told on stderr,
/// with what was probably meant.
/// @return the exit code to stop with: 0 where help or the version was asked for or there is something to do,
/// 2 for the user's mistake
int parse_command_line(CLI::App& app, int count, const char* const* arguments);

}  // namespace lockstep
