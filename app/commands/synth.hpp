#pragma once

#include <functional>

namespace CLI {
class App;
}

namespace lockstep {

/// Registers `lockstep synth` (fit, show, sample, obfuscate, score); when one was called, @p action runs it.
void add_synth_command(CLI::App& app, std::function<int()>& action);

}  // namespace lockstep
