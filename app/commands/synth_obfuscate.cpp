#include <fmt/format.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <memory>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "app/commands/synth_subcommands.hpp"
#include "app/synth_inputs.hpp"
#include "app/synth_outputs.hpp"
#include "synth/fit.hpp"
#include "synth/obfuscate.hpp"
#include "synth/sample.hpp"
#include "synth/score.hpp"

namespace lockstep {
namespace {

struct ObfuscateCommand {
  SynthInput input;
  std::string job, folder, sizes = "2-digits", durations = "keep";
  SynthMachine machine;
  synth::ObfuscateOptions options;
  bool gzip = false;
};

synth::SizeHiding hiding_named(const std::string& name) {
  return name == "exact"  ? synth::SizeHiding::Exact
         : name == "log2" ? synth::SizeHiding::Log2
                          : synth::SizeHiding::TwoDigits;
}

/// `keep`, or `noise=5%`.
double noise_of(const std::string& durations) {
  if (durations == "keep") return 0;
  constexpr std::string_view kNoise = "noise=";
  if (durations.starts_with(kNoise) && durations.ends_with('%')) {
    try {
      const double percent = std::stod(durations.substr(kNoise.size()));
      if (percent > 0 && percent <= 100) return percent / 100;
    } catch (const std::logic_error&) {  // no number
    }
  }
  throw std::invalid_argument{
      fmt::format("--durations {}: keep, or noise=5% (a spread from above 0 to 100 %)", durations)};
}

int obfuscate_command(ObfuscateCommand command) {
  command.options.sizes = hiding_named(command.sizes);
  command.options.noise = noise_of(command.durations);
  command.input.jobs = {command.job};
  const std::vector<synth::Recording> recordings = read_recordings(command.input);
  synth::FitOptions exact;
  exact.exact = true;
  synth::Model model = synth::fit(recordings, exact);
  synth::SampleOptions options;
  const synth::ObfuscateReport report = synth::obfuscate(model, command.options, options);
  const synth::JobModel& job = model.jobs.front();
  SynthMachine given = command.machine;
  if (given.cluster.empty() && job.cluster.empty()) {
    constexpr std::size_t kGpusOfNode = 8;  // DGX A100
    given.cluster = fmt::format("dgx_a100 x {}", (job.ranks.size() + kGpusOfNode - 1) / kGpusOfNode);
  }
  const SynthMachine machine = machine_for(job, given, static_cast<double>(job.ranks.size()));
  const GpuSpec gpu = gpu_of(machine, static_cast<std::uint32_t>(job.ranks.size()));
  const synth::Sample made = synth::sample(model, gpu, options);
  const synth::Recording result = recording_of(made, gpu);
  const synth::Nearest near = synth::nearest(result, recordings);
  const nlohmann::ordered_json written{
      {"schema", "lockstep-synth-report.1"},
      {"sizes", command.sizes},
      {"k", command.options.k},
      {"durations", command.durations},
      {"kernels", report.kernels},
      {"timed_by_coarse_shapes", report.shaped},
      {"that_share_their_time", report.shared},
      {"nearest_source",
       {{"sequence_distance", near.sequence_distance}, {"size_distance_octaves", near.size_distance}}}};
  write_sample(made, job, gpu, {command.folder, machine, command.gzip}, written.dump(2) + "\n");
  fmt::print(
      "{} ranks in {}: names, operators' arguments and ids are gone; {} of {} kernels timed by coarse "
      "shapes, {} "
      "share their time with at least {} others\n",
      made.job.ranks.size(), command.folder, report.shaped, report.kernels, report.shared,
      command.options.k - 1);
  if (command.options.hide_totals) {
    fmt::print("your secret: layers by {:.4g}, times and messages by {:.4g} (in no file)\n", report.layers,
               report.scale);
  } else {
    fmt::print(
        "not hidden: how often things are repeated, and the totals of compute and communication "
        "(--hide totals)\n");
  }
  return 0;
}

}  // namespace

void add_synth_obfuscate(CLI::App& parent, std::function<int()>& action) {
  const auto options = std::make_shared<ObfuscateCommand>();
  const auto hidden = std::make_shared<std::vector<std::string>>();
  CLI::App* command = parent.add_subcommand("obfuscate", "a job's traces without what names the model");
  command->add_option("JOB", options->job, "one job, as synth fit takes them")->required();
  command->add_option("-o,--output", options->folder, "folder for the traces")->required();
  command->add_option("--sizes", options->sizes, "2-digits (default), log2, exact")
      ->check(CLI::IsMember({"2-digits", "log2", "exact"}));
  command
      ->add_option("--k", options->options.k,
                   "kernels without a known shape share their time with so many of their class (default: 5)")
      ->check(CLI::Range(1, 1'000'000));
  command->add_option("--durations", options->durations, "keep (default), noise=5%");
  auto* const seed = command->add_option("--seed", options->options.seed,
                                         "of the noise and of what hides the totals: keep it to yourself");
  command
      ->add_option("--hide", *hidden,
                   "totals: other layers, one factor on all times and messages; needs --seed")
      ->check(CLI::IsMember({"totals"}))
      ->needs(seed);
  command->add_flag("--keep-communication", options->options.keep_communication,
                    "sizes of collectives stay exact");
  command->add_flag("--gzip", options->gzip, "files .et.gz");
  add_synth_input(*command, options->input);
  add_synth_machine(*command, options->machine);
  command->callback([options, hidden, &action] {
    options->options.hide_totals = !hidden->empty();
    action = [options] { return obfuscate_command(*options); };
  });
}

}  // namespace lockstep
