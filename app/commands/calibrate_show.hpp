#pragma once

#include <functional>

namespace CLI {  // NOLINT(readability-identifier-naming): theirs
class App;
}

namespace lockstep {

/// Registers `show` below @p calibrate; when it was called, @p action runs it.
void add_calibrate_show(CLI::App& calibrate, std::function<int()>& action);

}  // namespace lockstep
