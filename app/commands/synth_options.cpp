#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

#include "app/commands/synth_subcommands.hpp"
#include "app/synth_inputs.hpp"
#include "app/synth_outputs.hpp"

namespace lockstep {

void add_synth_input(CLI::App& command, SynthInput& input) {
  command.add_option("--gpu", input.gpu,
                     "GPU that profiles were recorded on, e.g. v100_32gb: kernels whose operators tell their "
                     "shapes are learnt by shape");
  command.add_option("--recorded-ranks", input.ranks,
                     "ranks of the job of which one rank's profile is given (default: one)");
}

void add_synth_machine(CLI::App& command, SynthMachine& machine) {
  command.add_option("--cluster", machine.cluster,
                     "machine of the traces, e.g. 'dgx_h100 x 4' (default: as recorded)");
}

}  // namespace lockstep
