#include "app/commands/synth.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <cmath>
#include <filesystem>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "app/result_folder.hpp"
#include "app/synth_inputs.hpp"
#include "app/synth_outputs.hpp"
#include "base/file.hpp"
#include "synth/fit.hpp"
#include "synth/model_file.hpp"
#include "synth/obfuscate.hpp"
#include "synth/score.hpp"
#include "synth/symbols.hpp"

namespace lockstep {
namespace {

using Json = nlohmann::ordered_json;

struct FitCommand {
  SynthInput input;
  synth::FitOptions options;
  std::string model;
};

struct SampleCommand {
  std::string model, folder;
  std::vector<std::string> assignments;
  SynthMachine machine;
  std::uint64_t seed = 1;
  std::uint32_t count = 1;
  std::uint32_t ranks = 0;
  bool exact = false, gzip = false;
};

struct ObfuscateCommand {
  SynthInput input;
  std::string job, folder, sizes = "2-digits", durations = "keep";
  SynthMachine machine;
  synth::ObfuscateOptions options;
  bool gzip = false;
};

struct ScoreCommand {
  std::string sample, source;
  bool json = false;
};

// ------------------------------------------------------------------------------------------------ fit, show

std::uint64_t written_tokens(const std::vector<synth::Item>& items) {
  std::uint64_t count = 0;
  for (const synth::Item& item : items) count += item.body.empty() ? 1 : written_tokens(item.body);
  return count;
}

std::uint64_t written_tokens(const synth::JobModel& job) {
  std::uint64_t count = 0;
  for (const synth::Template& tmpl : job.templates) count += written_tokens(tmpl.body);
  return count;
}

int fit_command(const FitCommand& command) {
  check_outputs({command.model});
  const std::vector<synth::Recording> recordings = read_recordings(command.input);
  const synth::Model model = synth::fit(recordings, command.options);
  write_whole_file(command.model, synth::to_json(model));
  for (const synth::JobModel& job : model.jobs) {
    std::vector<std::string> symbols;
    for (const auto& [name, value] : job.symbols) symbols.push_back(fmt::format("{} {:.10g}", name, value));
    fmt::print("job of {} ranks, {} of them different: {} instructions, {} written down\n  {}\n",
               job.ranks.size(), job.templates.size(), job.tokens, written_tokens(job),
               fmt::join(symbols, ", "));
    for (const std::string& pair : job.unclear) {
      fmt::print(
          "  {} are equal in all jobs: sizes cannot tell them apart (add a job in which they differ)\n",
          pair);
    }
  }
  fmt::print("{} in {}: lockstep synth show {}\n",
             model.jobs.size() == 1 ? "one job: a sample is like this job"
                                    : fmt::format("{} jobs", model.jobs.size()),
             command.model, command.model);
  return 0;
}

/// How often an entry is launched.
void count_uses(const std::vector<synth::Item>& items, double times, std::vector<double>& uses) {
  for (const synth::Item& item : items) {
    if (!item.body.empty()) {
      count_uses(item.body, times * item.count, uses);
    } else if (item.token.op == Opcode::Launch && !item.token.per_rank) {
      uses[item.token.operand] += times;
    }
  }
}

void print_blocks(const std::vector<synth::Item>& items, std::size_t depth) {
  constexpr std::size_t kShownDepth = 3;
  constexpr std::uint64_t kLeastShown = 6;
  std::uint64_t single = 0;
  const auto print_single = [&] {
    if (single >= kLeastShown) fmt::print("  {:{}}{} instructions\n", "", 2 * depth, single);
    single = 0;
  };
  for (const synth::Item& item : items) {
    const std::uint64_t written = item.body.empty() ? 1 : written_tokens(item.body);
    if (item.body.empty() || written < kLeastShown || depth >= kShownDepth) {
      single += item.body.empty() ? 1 : item.count * written;
      continue;
    }
    print_single();
    fmt::print("  {:{}}{} times a block of {} instructions\n", "", 2 * depth, item.count, written);
    print_blocks(item.body, depth + 1);
  }
  print_single();
}

void print_kernels(const synth::Template& tmpl, const synth::Model& model) {
  struct Row {
    double launches = 0;
    std::uint32_t kernels = 0, shaped = 0, supported = 0;
  };
  std::vector<double> uses(tmpl.kernels.size(), 0);
  count_uses(tmpl.body, 1, uses);
  std::map<std::string, Row> rows;
  for (std::size_t i = 0; i < tmpl.kernels.size(); ++i) {
    const synth::KernelEntry& kernel = tmpl.kernels[i];
    if (uses[i] == 0) continue;
    Row& row = rows[kernel.call.name];
    row.launches += uses[i];
    ++row.kernels;
    row.shaped += std::holds_alternative<Timed>(kernel.call.work) ? 0 : 1;
    row.supported += kernel.support >= model.min_support ? 1 : 0;
  }
  fmt::print("  class              launches  kernels  with shape  seen {} times or more\n",
             model.min_support);
  for (const auto& [name, row] : rows) {
    fmt::print("  {:<18} {:>8.0f} {:>8} {:>11} {:>22}\n", name, row.launches, row.kernels, row.shaped,
               row.supported);
  }
}

void print_sizes(const synth::Template& tmpl) {
  std::map<std::string, std::uint32_t> sizes;
  for (const synth::KernelEntry& kernel : tmpl.kernels) {
    for (const synth::Monomial& size : kernel.sizes) {
      if (!size.powers.empty() || size.with_parameters) ++sizes[to_text(size)];
    }
  }
  if (sizes.empty()) return;
  std::vector<std::pair<std::uint32_t, std::string>> ranked;
  for (const auto& [text, count] : sizes) ranked.emplace_back(count, text);
  std::ranges::sort(ranked, std::greater{});
  constexpr std::size_t kShown = 12;
  std::vector<std::string> shown;
  for (std::size_t i = 0; i < std::min(kShown, ranked.size()); ++i) shown.push_back(ranked[i].second);
  fmt::print("  sizes: {}{}\n", fmt::join(shown, ", "),
             ranked.size() > kShown ? fmt::format(", and {} more", ranked.size() - kShown) : "");
}

int show_command(const std::string& path) {
  const synth::Model model = synth::read_model(path);
  fmt::print("family {}, {} job{}\n", model.family, model.jobs.size(), model.jobs.size() == 1 ? "" : "s");
  for (const synth::JobModel& job : model.jobs) {
    std::vector<std::string> symbols;
    for (const auto& [name, value] : job.symbols) symbols.push_back(fmt::format("{} = {:.10g}", name, value));
    fmt::print("\njob of {} ranks{}{}\n  {}\n", job.ranks.size(), job.gpu.empty() ? "" : " on " + job.gpu,
               job.has_launches ? "" : ", recorded (times hold the gaps between kernels)",
               fmt::join(symbols, ", "));
    for (std::size_t i = 0; i < job.templates.size(); ++i) {
      const synth::Template& tmpl = job.templates[i];
      fmt::print(" ranks of kind {}: {} threads, {}\n", i + 1, tmpl.program.threads.size(),
                 fmt::join(tmpl.program.streams, ", "));
      print_blocks(tmpl.body, 0);
      print_kernels(tmpl, model);
      print_sizes(tmpl);
      for (const synth::CallEntry& call : tmpl.calls) {
        fmt::print("  {} in {}: {} elements, seen {} times\n", to_string(call.call.kind),
                   tmpl.program.groups[call.call.group], to_text(call.elements), call.support);
      }
    }
  }
  return 0;
}

// ---------------------------------------------------------------------------------------------------- sample

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

// ------------------------------------------------------------------------------------------------- obfuscate

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
  const Json written{
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

// ----------------------------------------------------------------------------------------------------- score

Json json_of(const synth::Score& score) {
  Json classes = Json::array();
  for (const synth::ClassScore& row : score.classes) {
    classes.push_back({{"class", row.name},
                       {"sampled", row.sampled},
                       {"source", row.source},
                       {"sampled_share", row.sampled_share},
                       {"source_share", row.source_share},
                       {"duration_ks", row.duration_ks},
                       {"time_weighted_ks", row.weighted_ks}});
  }
  return {{"classes", std::move(classes)},
          {"class_mix", score.class_mix},
          {"message_ks", score.message_ks},
          {"host_gap_ks", score.host_gap_ks},
          {"work_ratio", score.work_ratio},
          {"message_ratio", score.message_ratio},
          {"sequence_distance", score.sequence_distance},
          {"size_distance_octaves", score.size_distance}};
}

void print_score(const synth::Score& score) {
  fmt::print(
      "class              launches           share of time      KS of durations\n"
      "                   sample   source    sample   source    plain   by time\n");
  for (const synth::ClassScore& row : score.classes) {
    fmt::print("{:<18} {:>6} {:>8} {:>8.1f} % {:>6.1f} % {:>8.3f} {:>9.3f}\n", row.name, row.sampled,
               row.source, 100 * row.sampled_share, 100 * row.source_share, row.duration_ks, row.weighted_ks);
  }
  fmt::print(
      "\nclass mix, total variation      {:.4f}\nKS of message sizes             {:.4f}\n"
      "KS of host times                {:.4f}\nkernel time, sample over source {:.4f}\n"
      "message bytes, likewise         {:.4f}\nedits of the sequence           {:.4f} of its length\n"
      "messages moved                  {:.4f} octaves\n",
      score.class_mix, score.message_ks, score.host_gap_ks, score.work_ratio, score.message_ratio,
      score.sequence_distance, score.size_distance);
}

synth::Recording recording_named(const std::string& job) {
  SynthInput input;
  input.jobs.push_back(job);
  return std::move(read_recordings(input).front());
}

int score_command(const ScoreCommand& command) {
  const synth::Score score = synth::compare(recording_named(command.sample), recording_named(command.source));
  const auto sampled = simulated_step(command.sample);
  const auto source = simulated_step(command.source);
  if (command.json) {
    Json all = json_of(score);
    all["sampled_step_seconds"] = sampled ? Json(sampled->in_base_units()) : Json();
    all["source_step_seconds"] = source ? Json(source->in_base_units()) : Json();
    fmt::print("{}\n", all.dump(2));
    return 0;
  }
  print_score(score);
  if (sampled && source) {
    fmt::print("step, simulated                 {:.3f} ms against {:.3f} ms, {:+.2f} %\n",
               1e3 * sampled->in_base_units(), 1e3 * source->in_base_units(), 100 * (*sampled / *source - 1));
  }
  return 0;
}

// --------------------------------------------------------------------------------------------------- options

constexpr const char* kJobs =
    "jobs, one each: a scenario (name, scenario.yaml or folder; exported and imported traces have one), or "
    "a profile of PyTorch, or a folder with those of a job's ranks";

void add_input(CLI::App& command, SynthInput& input) {
  command.add_option("--gpu", input.gpu,
                     "GPU that profiles were recorded on, e.g. v100_32gb: kernels whose operators tell their "
                     "shapes are learnt by shape");
  command.add_option("--recorded-ranks", input.ranks,
                     "ranks of the job of which one rank's profile is given (default: one)");
}

void add_machine(CLI::App& command, SynthMachine& machine) {
  command.add_option("--cluster", machine.cluster,
                     "machine of the traces, e.g. 'dgx_h100 x 4' (default: as recorded)");
}

void add_fit(CLI::App& parent, std::function<int()>& action) {
  const auto options = std::make_shared<FitCommand>();
  CLI::App* command = parent.add_subcommand("fit", "learn a model of jobs");
  command->add_option("JOB", options->input.jobs, kJobs)->required();
  command->add_option("-o,--output", options->model, "file for the model")->required();
  command->add_option("--name", options->options.family, "what the family is called");
  command
      ->add_option("--label", options->input.labels,
                   "sizes of a job that its shapes do not tell, one option a job: hidden=768,layers=12")
      ->allow_extra_args(false);
  command->add_option("--min-support", options->options.min_support,
                      "spreads of what was seen less often are those of its class (default: 5)");
  command->add_flag("--exact", options->options.exact,
                    "write what is repeated once only where it takes equally long: nothing is averaged");
  add_input(*command, options->input);
  command->callback([options, &action] { action = [options] { return fit_command(*options); }; });
}

void add_show(CLI::App& parent, std::function<int()>& action) {
  const auto model = std::make_shared<std::string>();
  CLI::App* command = parent.add_subcommand("show", "what a model holds: blocks, classes, sizes, support");
  command->add_option("MODEL", *model, "written by lockstep synth fit")->required();
  command->callback([model, &action] { action = [model] { return show_command(*model); }; });
}

void add_sample(CLI::App& parent, std::function<int()>& action) {
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
  add_machine(*command, options->machine);
  command->callback([options, &action] { action = [options] { return sample_command(*options); }; });
}

void add_obfuscate(CLI::App& parent, std::function<int()>& action) {
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
  CLI::Option* const seed = command->add_option(
      "--seed", options->options.seed, "of the noise and of what hides the totals: keep it to yourself");
  command
      ->add_option("--hide", *hidden,
                   "totals: other layers, one factor on all times and messages; needs --seed")
      ->check(CLI::IsMember({"totals"}))
      ->needs(seed);
  command->add_flag("--keep-communication", options->options.keep_communication,
                    "sizes of collectives stay exact");
  command->add_flag("--gzip", options->gzip, "files .et.gz");
  add_input(*command, options->input);
  add_machine(*command, options->machine);
  command->callback([options, hidden, &action] {
    options->options.hide_totals = !hidden->empty();
    action = [options] { return obfuscate_command(*options); };
  });
}

void add_score(CLI::App& parent, std::function<int()>& action) {
  const auto options = std::make_shared<ScoreCommand>();
  CLI::App* command = parent.add_subcommand("score", "how like its source a sample is, by class of kernels");
  command->add_option("SAMPLE", options->sample, "a sample's folder, or any job")->required();
  command->add_option("SOURCE", options->source, "likewise")->required();
  command->add_flag("--json", options->json, "as JSON");
  command->callback([options, &action] { action = [options] { return score_command(*options); }; });
}

}  // namespace

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
  add_fit(*command, action);
  add_show(*command, action);
  add_sample(*command, action);
  add_obfuscate(*command, action);
  add_score(*command, action);
}

}  // namespace lockstep
