#pragma once

#include <functional>

namespace CLI {
class App;
}

namespace lockstep {

/// Registers `lockstep completion SHELL` and `lockstep manual`, which print a completion script and the
/// manual page of @p app, whose commands are all registered; when one was called, @p action runs it.
void add_manual_commands(CLI::App& app, std::function<int()>& action);

}  // namespace lockstep
