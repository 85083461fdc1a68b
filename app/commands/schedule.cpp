#include "app/commands/schedule.hpp"

#include <fmt/core.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <cctype>
#include <memory>
#include <optional>
#include <utility>

#include "app/interruption.hpp"
#include "app/report/page.hpp"
#include "app/result_folder.hpp"
#include "app/schedule/schedule_report.hpp"
#include "base/file.hpp"
#include "base/progress.hpp"
#include "scenario/opened_scenario.hpp"
#include "scenario/rank_list.hpp"
#include "schedule/phase_scenarios.hpp"
#include "schedule/schedule_search.hpp"
#include "traces/chrome_trace.hpp"
#include "traces/timeline_budget.hpp"

namespace lockstep {
namespace {

constexpr std::string_view kTimeline = ".timeline.json.gz";

/// Names of what `schedule` writes into its folder.
bool is_of_schedule(const std::string& name) {
  return name == "schedule.json" || name == "schedule.svg" || name == kReportPage ||
         (name.starts_with("phase_") && name.ends_with(".yaml")) || name.ends_with(kTimeline);
}

/// Letters, digits and `_`, for the name of a file.
std::string file_word(const std::string& name) {
  std::string word;
  for (const char c : name) {
    const bool is_plain = std::isalnum(static_cast<unsigned char>(c)) != 0;
    if (is_plain || (!word.empty() && word.back() != '_')) {
      word += is_plain ? c : '_';
    }
  }
  constexpr std::size_t kLongest = 60;
  return word.substr(0, kLongest);
}

/// A timeline for each phase and transition that is simulated, numbered in that order.
class TimelineFiles {
 public:
  TimelineFiles(const ResultFolder* folder, const Progress& progress)
      : folder_{folder}, progress_{progress} {}

  [[nodiscard]] Timelines timelines() {
    return {[this](const std::string& name, const ResolvedScenario& resolved,
                   const std::vector<std::uint32_t>& simulated) { return open(name, resolved, simulated); },
            [this] { close(); }};
  }

 private:
  TimelineRequest open(const std::string& name, const ResolvedScenario& resolved,
                       const std::vector<std::uint32_t>& simulated) {
    progress_.say("simulating " + name);
    if (folder_ == nullptr) {
      return {};
    }
    constexpr std::size_t kFew = 8;
    const std::size_t ranks = resolved.job.ranks.size();
    ChromeTraceOptions options;
    options.path = folder_->staged() / fmt::format("{}_{}{}", ++count_, file_word(name), kTimeline);
    TimelinePart part =
        part_within(resolved.job, ranks <= kFew ? parse_ranks("all", ranks) : simulated, kTimelineEvents);
    options.ranks = std::move(part.ranks);
    options.first_step = part.first_step;
    options.left_out = std::move(part.left_out);
    if (!options.left_out.empty()) {
      fmt::print(stderr, "the timeline of {} shows {}\n", name, options.left_out);
    }
    writer_.emplace(resolved.job, resolved.fabric.vertices(), options);
    return {&*writer_, options.ranks};
  }

  void close() {
    if (writer_) {
      writer_->finish();
      writer_.reset();
    }
  }

  const ResultFolder* folder_;  // nullptr: none are written
  const Progress& progress_;
  std::optional<ChromeTraceWriter> writer_;
  std::size_t count_ = 0;
};

void write_answer(const SchedulePrediction& prediction, const std::string& json,
                  const std::filesystem::path& folder) {
  const ScheduleTotals& totals = prediction.totals;
  Page page{
      "schedule", prediction.name,
      fmt::format("The training takes {} instead of {}: it saves {:.1f} %, \u00b1 {:.1f} points, of the "
                  "time with {:.1f} % of the FLOPs.",
                  long_time(totals.seconds), long_time(totals.dense_seconds), 100 * totals.time_saved(),
                  100 * prediction.time_saved_band, 100 * totals.flops_saved()),
      json};
  page.pictures.push_back({"the training, its steps, and what is lost", schedule_svg(prediction)});
  write_whole_file(folder / "schedule.json", json);
  write_whole_file(folder / "schedule.svg", page.pictures.front().svg);
  write_whole_file(folder / kReportPage, page_html(page));
}

/// Phases that are alike have one file; zeros of weights are no key of a scenario.
void write_phases(const SchedulePrediction& prediction, const std::filesystem::path& folder) {
  for (std::size_t i = 0; i < prediction.phases.size(); ++i) {
    const PredictedPhase& phase = prediction.phases[i];
    if (!phase.scenario.empty() && !phase.mask && !phase.sparsity) {
      write_whole_file(folder / fmt::format("phase_{}.yaml", i + 1), phase.scenario);
    }
  }
}

/// Another scenario's training: its schedule, or its step as often as this one takes to train the full model.
std::optional<OtherTraining> other_training(const ScheduleOptions& options, const SchedulePrediction& own,
                                            const Timelines& timelines) {
  if (options.against.empty() || options.against == "dense") {
    return std::nullopt;
  }
  auto [path, configs, document] = open_scenario(options.against, {});
  const bool has_schedule = document.root().find("schedule") != nullptr;
  if (!has_schedule) {
    document.set("campaign",
                 fmt::format("{{ length: {{ {}: {} }} }}", own.length.unit(), own.length.amount()));
  }
  const ScheduledScenario scheduled = scheduled_scenario(document, configs);
  const SchedulePrediction other = predict_schedule(scheduled, configs, document, timelines);
  return OtherTraining{other.name, other.totals.seconds, other.gpu_hours};
}

void print_results(const ScheduleOptions& options, const SchedulePrediction& prediction,
                   const OtherTraining* other) {
  if (options.json == "-") {
    fmt::print("{}", schedule_json(prediction, other));
    return;
  }
  fmt::print("{}", schedule_text(prediction, other));
  if (!options.json.empty()) {
    write_whole_file(options.json, schedule_json(prediction, other));
  }
}

}  // namespace

int schedule_command(const ScheduleOptions& options) {
  const Progress progress{options.quiet};
  auto [path, configs, document] = open_scenario(options.scenario, options.overrides);
  TimelineFiles none{nullptr, progress};
  std::optional<SearchedSchedule> searched;
  if (!options.search.empty()) {
    searched = search_schedule(document, configs, SearchRequest::parse(options.search), none.timelines());
    document = with_phases(std::move(document), searched->phases);
  }
  const ScheduledScenario scheduled = scheduled_scenario(document, configs);
  check_outputs({options.json});
  std::optional<ResultFolder> results;
  if (options.json != "-" || !options.folder.empty()) {
    results.emplace(result_folder(options.folder, path), is_of_schedule);
  }
  const Interruption interruption{[&results] {
    remove_unfinished_files();
    if (results) {
      results->abandon();
    }
  }};
  TimelineFiles files{results && !options.no_timeline ? &*results : nullptr, progress};
  const SchedulePrediction prediction = predict_schedule(scheduled, configs, document, files.timelines());
  const std::optional<OtherTraining> other = other_training(options, prediction, none.timelines());
  if (results) {
    write_answer(prediction, schedule_json(prediction, other ? &*other : nullptr), results->staged());
    write_phases(prediction, results->staged());
    results->commit();
  }
  progress.done();
  if (searched && options.json != "-") {
    fmt::print("{}", search_text(*searched));
  }
  print_results(options, prediction, other ? &*other : nullptr);
  if (results && !options.quiet) {
    fmt::print(stderr,
               "\nresults in {}: schedule.svg, schedule.json, phase_1.yaml and so on{}\nlook at them: {}\n",
               results->path().string(), options.no_timeline ? "" : ", timelines",
               (results->path() / kReportPage).string());
  }
  return 0;
}

void add_schedule_command(CLI::App& app, std::function<int()>& action) {
  const auto options = std::make_shared<ScheduleOptions>();
  const auto assignments = std::make_shared<std::vector<std::string>>();
  CLI::App* command = app.add_subcommand("schedule", "predict a training whose model grows and is pruned");
  command->footer(
      "examples:\n"
      "  lockstep schedule dlrm_grown_and_pruned -o out\n"
      "  lockstep schedule my.yaml --set schedule.phases.1.keep.top_mlp=0.25\n"
      "  lockstep schedule my.yaml --search \"top_mlp in 0.25..1, phases <= 4, full >= 20 %\"");
  command
      ->add_option("SCENARIO", options->scenario,
                   "a name of lockstep list, a scenario.yaml, its folder, or - for stdin")
      ->required();
  command->add_option("-o,--output", options->folder, "folder for the results (default: lockstep-out/NAME)");
  command->add_option("--set", *assignments, "KEY=VALUE: override a value, e.g. schedule.steps=100000")
      ->allow_extra_args(false);
  command->add_option(
      "--against", options->against,
      "what it is held against besides the dense training: another scenario, with a schedule or "
      "without (default: dense, nothing besides)");
  command->add_option(
      "--search", options->search,
      "phases of one layer group that take the least time, in place of the scenario's, e.g. \"top_mlp "
      "in 0.25..1 by 0.125, phases <= 4, every 5 %, saved_flops <= 30 %, full >= 20 %\"");
  command->add_option("--json", options->json, "figures as JSON; - for stdout instead of the text");
  command->add_flag("--no-timeline", options->no_timeline, "write no timelines");
  command->add_flag("-q,--quiet", options->quiet, "nothing on stderr but errors");
  command->callback([options, assignments, &action] {
    action = [options, assignments] {
      options->overrides = overrides_of(*assignments);
      return schedule_command(*options);
    };
  });
}

}  // namespace lockstep
