#include <fmt/format.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "app/commands/synth_subcommands.hpp"
#include "app/synth_outputs.hpp"
#include "synth/model_file.hpp"
#include "synth/sample.hpp"

namespace lockstep {
namespace {

struct SampleCommand {
  std::string model, folder;
  std::vector<std::string> assignments;
  SynthMachine machine;
  std::uint64_t seed = 1;
  std::uint32_t count = 1;
  std::uint32_t ranks = 0;
  bool exact = false, gzip = false;
};

int sample_command(const SampleCommand& command) {
  const synth::Model model = synth::read_model(command.model);
  SynthKnobs knobs = knobs_of(command.assignments);
  if (command.ranks != 0) knobs.sample.symbols["ranks"] = command.ranks;
  knobs.sample.exact = command.exact;
  SynthMachine given = command.machine;
  if (!knobs.gpu.empty()) given.gpu = knobs.gpu;
  for (std::uint32_t i = 0; i < command.count; ++i) {
    knobs.sample.seed = command.seed + i;
    const auto wanted = knobs.sample.symbols.find("ranks");
    const synth::JobModel& first = model.jobs.front();
    const double ranks = wanted == knobs.sample.symbols.end() ? first.symbols.at("ranks") : wanted->second;
    const SynthMachine machine = machine_for(first, given, ranks);
    const GpuSpec gpu = gpu_of(machine, static_cast<std::uint32_t>(ranks));
    const synth::Sample made = synth::sample(model, gpu, knobs.sample);
    SynthTarget target{command.folder, machine, command.gzip};
    if (command.count > 1)
      target.folder = (std::filesystem::path{command.folder} / fmt::format("{}", i + 1)).string();
    write_sample(made, model.jobs[made.source], gpu, target, sample_report(model, made, knobs.sample, gpu));
    fmt::print("{} ranks on {} in {}\n", made.job.ranks.size(), machine.cluster, target.folder);
  }
  fmt::print(
      "run {}: lockstep run {}\n", command.count > 1 ? "one" : "it",
      (std::filesystem::path{command.folder} / (command.count > 1 ? "1" : "") / "scenario.yaml").string());
  return 0;
}

}  // namespace

void add_synth_sample(CLI::App& parent, std::function<int()>& action) {
  const auto options = std::make_shared<SampleCommand>();
  CLI::App* command = parent.add_subcommand("sample", "draw jobs from a model, with knobs turned");
  command->add_option("MODEL", options->model, "written by lockstep synth fit")->required();
  command->add_option("-o,--output", options->folder, "folder for the traces")->required();
  command->add_option("--ranks", options->ranks, "a multiple of those of the recorded job");
  command->add_option("--seed", options->seed, "of all draws (default: 1)");
  command->add_option("--count", options->count, "samples, each in a folder of its own: 1, 2, ...")
      ->check(CLI::Range(1, 1'000'000));
  command
      ->add_option("--set", options->assignments,
                   "a knob: layers, hidden, batch, sequence, ... (lockstep synth show lists them), "
                   "precision=bf16, gpu=h100_80gb")
      ->allow_extra_args(false);
  command->add_flag("--exact", options->exact, "no noise: every time is the mean of its kind");
  command->add_flag("--gzip", options->gzip, "files .et.gz");
  add_synth_machine(*command, options->machine);
  command->callback([options, &action] { action = [options] { return sample_command(*options); }; });
}

}  // namespace lockstep
