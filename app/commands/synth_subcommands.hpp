#pragma once

/// @file
/// Subcommands of `lockstep synth`. Each sets @p action to what it is to do.

#include <functional>

namespace CLI {
class App;
}

namespace lockstep {

struct SynthInput;
struct SynthMachine;

void add_synth_fit(CLI::App& parent, std::function<int()>& action);
void add_synth_show(CLI::App& parent, std::function<int()>& action);
void add_synth_sample(CLI::App& parent, std::function<int()>& action);
void add_synth_obfuscate(CLI::App& parent, std::function<int()>& action);
void add_synth_score(CLI::App& parent, std::function<int()>& action);

/// Meaning of a job on the command line.
inline constexpr const char* kSynthJobs =
    "jobs, one each: a scenario (name, scenario.yaml or folder; exported and imported traces have one), or "
    "a profile of PyTorch, or a folder with those of a job's ranks";

/// Options that say how profiles are read.
void add_synth_input(CLI::App& command, SynthInput& input);

/// The option that names the machine of the traces.
void add_synth_machine(CLI::App& command, SynthMachine& machine);

}  // namespace lockstep
