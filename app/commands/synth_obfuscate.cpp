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
  std::vector<std::string> among;
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

struct ObfuscatedJob {
  synth::Model model;
  synth::ObfuscateReport report;
  SynthMachine machine;
  GpuSpec gpu;
  synth::Sample made;
};

ObfuscatedJob obfuscated(const synth::Recording& recording, const ObfuscateCommand& command) {
  synth::FitOptions exact;
  exact.exact = true;
  ObfuscatedJob done;
  done.model = synth::fit({&recording, 1}, exact);
  synth::SampleOptions options;
  done.report = synth::obfuscate(done.model, command.options, options);
  const synth::JobModel& job = done.model.jobs.front();
  SynthMachine given = command.machine;
  if (given.cluster.empty() && job.cluster.empty()) {
    constexpr std::size_t kGpusOfNode = 8;  // DGX A100
    given.cluster = fmt::format("dgx_a100 x {}", (job.ranks.size() + kGpusOfNode - 1) / kGpusOfNode);
  }
  done.machine = machine_for(job, given, static_cast<double>(job.ranks.size()));
  done.gpu = gpu_of(done.machine, static_cast<std::uint32_t>(job.ranks.size()));
  done.made = synth::sample(done.model, done.gpu, options);
  return done;
}

/// The job, with what it has in common with fewer than k - 1 of the others hidden.
ObfuscatedJob hidden_among_others(const synth::Recording& recording, const ObfuscateCommand& command) {
  ObfuscatedJob done = obfuscated(recording, command);
  if (command.options.k == 1) return done;
  synth::KernelSupport support;
  synth::add_support(done.made.job, support);
  SynthInput others = command.input;
  others.jobs = command.among;
  for (const synth::Recording& other : read_recordings(others)) {
    synth::add_support(obfuscated(other, command).made.job, support);
  }
  synth::ObfuscateOptions options = command.options;
  options.alone = collective_times(done.machine, done.gpu);
  done.report.pieces = synth::hide_rare(done.made, done.model.jobs.front(), done.gpu, options, support);
  check(done.made.job);
  return done;
}

int obfuscate_command(ObfuscateCommand command) {
  command.options.sizes = hiding_named(command.sizes);
  command.options.noise = noise_of(command.durations);
  command.input.jobs = {command.job};
  const std::vector<synth::Recording> recordings = read_recordings(command.input);
  const ObfuscatedJob done = hidden_among_others(recordings.front(), command);
  const auto& [model, report, machine, gpu, made] = done;
  const synth::JobModel& job = model.jobs.front();
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
      {"launches", {{"source", report.pieces.launches}, {"left", report.pieces.left_launches}}},
      {"collectives", {{"source", report.pieces.collectives}, {"left", report.pieces.left_collectives}}},
      {"nearest_source",
       {{"sequence_distance", near.sequence_distance}, {"size_distance_octaves", near.size_distance}}}};
  write_sample(made, job, gpu, {command.folder, machine, command.gzip}, written.dump(2) + "\n");
  fmt::print(
      "{} ranks in {}: names, operators' arguments and ids are gone; {} of {} kernels timed by coarse "
      "shapes, {} "
      "share their time with at least {} others\n",
      made.job.ranks.size(), command.folder, report.shaped, report.kernels, report.shared,
      command.options.k - 1);
  if (command.options.k > 1) {
    fmt::print("{} launches became {}, {} collectives {}: what fewer than {} jobs have is one piece\n",
               report.pieces.launches, report.pieces.left_launches, report.pieces.collectives,
               report.pieces.left_collectives, command.options.k);
  }
  if (command.options.hide_totals) {
    fmt::print("your secret: layers by {:.4g}, times and messages by {:.4g} (in no file)\n", report.layers,
               report.scale);
  } else {
    fmt::print("not hidden: the totals of compute and communication (--hide totals){}\n",
               command.options.k > 1 ? "" : ", and how often things are repeated (--k 5)");
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
                   "jobs that must have a kernel, else it goes into a larger piece with its neighbours "
                   "(default: 5; 1: all kernels stay)")
      ->check(CLI::Range(1, 1'000'000));
  command->add_option("--among", options->among, "other jobs: kernels that k of all jobs have stay")
      ->allow_extra_args(false);
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
