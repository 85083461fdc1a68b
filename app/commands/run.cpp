#include "app/commands/run.hpp"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <memory>
#include <optional>
#include <vector>

#include "app/interruption.hpp"
#include "app/metrics_json.hpp"
#include "app/report.hpp"
#include "app/report/page.hpp"
#include "app/report/run_page.hpp"
#include "app/result_folder.hpp"
#include "app/run_timeline.hpp"
#include "app/sweep/sweep_place.hpp"
#include "base/effective.hpp"
#include "base/file.hpp"
#include "base/progress.hpp"
#include "ops/workload/dlrm.hpp"
#include "scenario/memory_demand.hpp"
#include "scenario/opened_scenario.hpp"
#include "scenario/prediction.hpp"
#include "scenario/scenario_file.hpp"
#include "scenario/sensitivity.hpp"
#include "scenario/straddling_groups.hpp"
#include "scenario/trust.hpp"
#include "sim/log.hpp"
#include "sim/tracing.hpp"

namespace lockstep {
namespace {

/// Warns of facts that traces lack or that look odd, on one line.
void warn_of_traces(const ResolvedScenario& resolved) {
  std::vector<std::string> odd;
  for (const ImportReport::Row& row : resolved.import_report.rows()) {
    if (row.oddity.severity != Severity::Note) {
      odd.push_back(fmt::format("{} ({} times)", row.oddity.kind, row.count));
    }
  }
  if (!odd.empty()) {
    log_of(LogComponent::App)
        .warn("odd about the traces: {}; `lockstep import FILE` explains", fmt::join(odd, ", "));
  }
}

/// Warns on stderr of times that the models cannot vouch for; shares of a percent are not worth a line.
void warn_of_guesses(const ResolvedScenario& resolved) {
  constexpr double kWorthALine = 0.02;
  const OutOfRange out_of_range = kernels_out_of_range(resolved);
  if (out_of_range.share > kWorthALine) {
    log_of(LogComponent::App)
        .warn("{:.0f} % of the kernel time is outside the ranges that the kernel models were checked in: {}",
              100 * out_of_range.share, fmt::join(out_of_range.kernels, ", "));
  }
  if (out_of_range.fell_back > kWorthALine) {
    log_of(LogComponent::App)
        .warn(
            "{:.0f} % of the kernel time is outside what the GPU's networks were trained on; formulas "
            "answered, with a wider band: {}",
            100 * out_of_range.fell_back, fmt::join(out_of_range.fell_back_kernels, ", "));
  }
  if (const std::string what = omitted_work(resolved.scenario).what; !what.empty()) {
    log_of(LogComponent::App)
        .warn("{} are not predicted: the band's slower side allows for them alone (docs/trust.md)", what);
  }
  log_of(LogComponent::App)
      .info("collectives as measured on '{}', host as '{}'", resolved.profile.name, resolved.host.name);
}

/// A sample has no lookup more often than it has lookups.
void warn_of_indices(const ResolvedScenario& resolved) {
  const auto& workload = resolved.scenario.workload;
  if (!workload || !workload->model->dlrm) {
    return;
  }
  const std::vector<EmbeddingTable> tables = workload->model->dlrm->all_tables();
  const auto is_odd = [](const EmbeddingTable& table) {
    return table.index_duplication > std::max(1.0, table.pooling_factor);
  };
  const auto odd = std::ranges::find_if(tables, is_odd);
  if (odd != tables.end()) {
    log_of(LogComponent::App)
        .warn(
            "table {} ({} such): each index repeats index_duplication {:g} times within its sample, which "
            "has pooling_factor {:g} lookups: at most {:g} times where all samples have as many",
            odd - tables.begin(), std::ranges::count_if(tables, is_odd), odd->index_duplication,
            odd->pooling_factor, std::max(1.0, odd->pooling_factor));
  }
}

/// Warns of a full allocator's waits, which are not simulated (ops/workload/allocator_calls.hpp).
void warn_of_full_memory(const ResolvedScenario& resolved) {
  const auto fullest = fullest_rank(resolved);
  if (fullest && fullest->is_tight()) {
    log_of(LogComponent::App)
        .warn(
            "rank {} needs {:.1f} % of its GPU's memory: where PyTorch's allocator finds no room, it waits "
            "for the device and gives free segments back (retries of cudaMalloc), which may make steps "
            "longer than this",
            fullest->rank, 100 * fullest->share());
  }
}

/// Checks the settings of SimGrid's tracing. @return the file that it writes; empty: nothing is traced
std::string traced_file_of(const RunOptions& options) {
  for (const std::string& setting : options.tracing) {
    try {
      check_tracing_setting(setting);
    } catch (const std::invalid_argument& problem) {
      throw std::invalid_argument{fmt::format("--cfg {}: {}", setting, problem.what())};
    }
  }
  if (!options.tracing.empty() && !asks_for_tracing(options.tracing)) {
    throw std::invalid_argument{
        fmt::format("--cfg {}: nothing is traced without --cfg tracing:yes", options.tracing.front())};
  }
  return options.tracing.empty() ? "" : traced_file(options.tracing);
}

/// Writes the places of a DLRM's tables, in the form that `parallelism.embedding.plan` takes.
void write_embedding_plan(const ResolvedScenario& resolved, const std::filesystem::path& file) {
  const ScenarioSpec& scenario = resolved.scenario;
  if (!scenario.workload || !scenario.workload->model->dlrm) {
    return;
  }
  std::vector<Bytes> memory;
  for (const std::uint32_t model : resolved.gpu_model_of_rank) {
    memory.push_back(resolved.gpu_models[model].usable());
  }
  const EmbeddingPlanSpec& spec = scenario.parallelism.embedding;
  const std::string who = spec.plan ? "as given" : "by the planner " + name_of(spec.planner);
  write_whole_file(file, plan_text(embedding_plan(*scenario.workload->model->dlrm, spec, memory),
                                   fmt::format("{}: {}", scenario.name, who)));
}

std::vector<ImprovedStep> more_of_each_resource(const RunOptions& options, ResolvedScenario& resolved,
                                                const Progress& progress) {
  if (!options.sensitivity) {
    return {};
  }
  progress.say("simulating with more of each resource");
  return improved_steps(resolved, usual_jobs({}, process_environment()));
}

void write_metrics(const RunMetrics& metrics, const std::filesystem::path& path) {
  AtomicFile file{path};
  metrics.write([&file](std::string_view piece) { file.write(piece); });
  file.commit();
}

void print(const RunOptions& options, const RunMetrics& metrics, const std::string& text) {
  if (options.json == "-") {
    metrics.write([](std::string_view piece) { fmt::print("{}", piece); });
    return;
  }
  fmt::print("{}", text);
  if (!options.json.empty()) {
    write_metrics(metrics, options.json);
  }
}

/// `436 million`, `1.04 billion`.
std::string count_text(std::uint64_t count) {
  constexpr double kBillion = 1e9;
  const auto number = static_cast<double>(count);
  return number < 0.9995 * kBillion ? fmt::format("{:.3g} million", 1e3 * number / kBillion)
                                    : fmt::format("{:.3g} billion", number / kBillion);
}

void say_where_results_are(const ResolvedScenario& resolved, const SimulationResult& result,
                           const std::optional<ResultFolder>& results, const RunTimeline& timeline) {
  const bool folded = result.simulated_ranks < resolved.job.ranks.size();
  fmt::print(stderr, "\nsimulated {} operations{} in {:.3f} s\n", count_text(result.operations),
             folded ? fmt::format(" of {} ranks by {} of them, the others being alike,",
                                  resolved.job.ranks.size(), result.simulated_ranks)
                    : "",
             result.wall_seconds);
  if (results) {
    fmt::print(stderr, "results in {}\nlook at them: {}\n{}", results->path().string(),
               (results->path() / kReportPage).string(), timeline.remark(results->path()));
  }
}

/// All files get their names.
void write_files(const ResolvedScenario& resolved, const SimulationResult& result, const RunMetrics& metrics,
                 const std::string& effective, RunTimeline& timeline, ResultFolder& results) {
  write_whole_file(results.staged() / "effective.yaml", effective);
  write_metrics(metrics, results.staged() / "metrics.json");
  write_embedding_plan(resolved, results.staged() / "embedding_plan.yaml");
  if (timeline.page() != nullptr) {
    timeline.page()->hold(timeline.memory());
  }
  write_whole_file(results.staged() / kReportPage,
                   run_page(resolved, result, {metrics.of_page(), effective}, timeline.page()));
  timeline.finish(result);
  results.commit();
}

}  // namespace

bool is_of_run(const std::string& name) {
  return name == "effective.yaml" || name == "metrics.json" || name == kReportPage ||
         name == "embedding_plan.yaml" ||
         (name.starts_with("timeline.") && (name.ends_with("json.gz") || name.ends_with(kPerfettoEnding)));
}

int run_command(const RunOptions& options) {
  if (options.verbose) {
    set_usual_log_level(spdlog::level::debug);
  }
  const Progress progress{options.quiet};
  const auto [path, configs, document] = open_scenario(options.scenario, options.overrides);
  progress.say("building " + path.string());
  ResolvedScenario resolved = build(document, configs);
  check_memory(resolved, as_typed(options.scenario, options.overrides));
  // Before there are threads, and a clock of SimGrid's.
  const std::vector<ImprovedStep> improved = more_of_each_resource(options, resolved, progress);
  check_outputs({options.json, traced_file_of(options)});
  std::optional<ResultFolder> results;
  if (options.json != "-" || !options.folder.empty()) {
    results.emplace(result_folder(options.folder, path), is_of_run);
  }
  const Interruption interruption{[&results] {
    remove_unfinished_files();
    if (results) {
      results->abandon();
    }
  }};
  RunTimeline timeline;
  check_timeline(options, resolved);
  const auto open_timeline = [&](const std::vector<std::uint32_t>& simulated) {
    progress.say("simulating");
    if (options.no_timeline || !results) {
      return TimelineRequest{};
    }
    return timeline.open(options, resolved, results->staged(), simulated);
  };
  warn_of_traces(resolved);
  warn_of_guesses(resolved);
  warn_of_indices(resolved);
  warn_of_full_memory(resolved);
  for (const std::string& sentence : straddling_groups(resolved)) {
    log_of(LogComponent::App).warn(sentence);
  }
  progress.say("planning");
  const SimulationResult result = predict(resolved, open_timeline, std::nullopt, options.tracing);
  const Sensitivity gains = gains_over(result.mean_step(), improved);
  const RunMetrics metrics{resolved, result, gains};
  if (results) {
    progress.say("writing results");
    write_files(resolved, result, metrics, effective_text<ScenarioSpec>(portable(document, configs), configs),
                timeline, *results);
  }
  progress.done();
  print(options, metrics, report(resolved, result, gains));
  if (!options.quiet) {
    say_where_results_are(resolved, result, results, timeline);
  }
  return 0;
}

void add_run_command(CLI::App& app, std::function<int()>& action) {
  const auto options = std::make_shared<RunOptions>();
  const auto assignments = std::make_shared<std::vector<std::string>>();
  CLI::App* command = app.add_subcommand("run", "predict one scenario: step time, why, and a timeline");
  command->footer(
      "examples:\n"
      "  lockstep run dlrm_mlperf_a100\n"
      "  lockstep run my/scenario.yaml -o results --set workload.global_batch=4096\n"
      "  lockstep run gpt2_8xa100 --no-timeline --json -\n"
      "  lockstep run gpt2_8xa100 --sensitivity                  what 10 % more of each resource would buy");
  command
      ->add_option("SCENARIO", options->scenario,
                   "a name of lockstep list, a scenario.yaml, its folder, or - for stdin")
      ->required();
  command->add_option("-o,--output", options->folder, "folder for the results (default: lockstep-out/NAME)");
  command->add_option("--set", *assignments, "KEY=VALUE: override a value, e.g. parallelism.ranks=4")
      ->allow_extra_args(false);
  command->add_option("--json", options->json, "metrics as JSON; - for stdout instead of the answer");
  command->add_flag("--no-timeline", options->no_timeline, "write no timeline");
  command->add_option(
      "--timeline", options->timeline,
      "name of the timeline's file: timeline.json.gz, or timeline.perfetto-trace for Perfetto's "
      "own format (default: the first up to a million events)");
  command->add_option("--timeline-ranks", options->timeline_ranks,
                      "ranks in the timeline, e.g. 0,8-15 or all (default: all of up to 64; of more, one "
                      "for each class of alike ranks)");
  command
      ->add_option("--timeline-events", options->timeline_events,
                   "most events of the timeline (default: 1000000 where --timeline-ranks says no ranks): the "
                   "last steps, and ranks that differ first")
      ->check(CLI::PositiveNumber);
  command->add_option("--timeline-links", options->timeline_links,
                      "busiest links in the timeline, with what they carry (default: 16); 0: none");
  command->add_flag("--timeline-per-rank", options->timeline_per_rank,
                    "a timeline file per rank, as HTA reads them");
  command->add_flag("--hta-compat", options->hta_names, "name collectives ncclKernel_..., as HTA expects");
  command->add_flag("--sensitivity", options->sensitivity,
                    "also tell what 10 % more of each resource would buy");
  command
      ->add_option("--cfg", options->tracing,
                   "KEY:VALUE: a setting of SimGrid's tracing, e.g. tracing:yes (docs/simgrid.md)")
      ->allow_extra_args(false);
  command->add_flag("-q,--quiet", options->quiet, "nothing on stderr but errors");
  command->add_flag("-v,--verbose", options->verbose, "say what was chosen and assumed");
  command->callback([options, assignments, &action] {
    action = [options, assignments] {
      options->overrides = overrides_of(*assignments);
      return run_command(*options);
    };
  });
}

}  // namespace lockstep
