#pragma once

#include <functional>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace lockstep {

/// Reads traces and prints what they hold, what is odd about them, and what had to be inferred: profiles
/// (Kineto), and execution traces of PyTorch, which are linked to the profile of the same rank where both are
/// given.
/// @throws InputError
int import_command(const std::vector<std::string>& traces);

/// Registers `lockstep import`; when it was called, @p action runs it.
void add_import_command(CLI::App& app, std::function<int()>& action);

}  // namespace lockstep
