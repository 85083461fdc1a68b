#include "app/commands/synth.hpp"

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

#include "app/commands/synth_subcommands.hpp"

namespace lockstep {

void add_synth_command(CLI::App& app, std::function<int()>& action) {
  CLI::App* command =
      app.add_subcommand("synth", "synthetic traces: learn jobs, sample new ones, hide what must be hidden");
  command->footer(
      "examples:\n"
      "  lockstep synth fit gpt2_8xa100 -o gpt2.json            learn a job\n"
      "  lockstep synth sample gpt2.json -o bigger --set layers=24 --set hidden=1536 --ranks 32\n"
      "  lockstep run bigger/scenario.yaml                      the step of the sample\n"
      "  lockstep synth obfuscate profiles/ -o shared           send this without telling your model\n"
      "  lockstep synth score bigger gpt2_8xa100                how alike they are");
  command->require_subcommand(1);
  add_synth_fit(*command, action);
  add_synth_show(*command, action);
  add_synth_sample(*command, action);
  add_synth_obfuscate(*command, action);
  add_synth_score(*command, action);
}

}  // namespace lockstep
