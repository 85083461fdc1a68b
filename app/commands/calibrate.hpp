#pragma once

#include <functional>

namespace CLI {  // NOLINT(readability-identifier-naming): theirs
class App;
}

namespace lockstep {

/// Registers `lockstep calibrate`; when it was called, @p action runs it.
void add_calibrate_command(CLI::App& app, std::function<int()>& action);

}  // namespace lockstep
