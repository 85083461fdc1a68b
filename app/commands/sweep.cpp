#include "app/commands/sweep.hpp"

#include <fmt/core.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <memory>

#include "app/report/page.hpp"
#include "app/result_folder.hpp"
#include "app/sweep/slurm_script.hpp"
#include "app/sweep/sweep_plots.hpp"
#include "app/sweep/sweep_runner.hpp"
#include "app/sweep/sweep_table.hpp"
#include "base/file.hpp"
#include "base/forked_tasks.hpp"
#include "base/shell_words.hpp"
#include "scenario/opened_scenario.hpp"

namespace lockstep {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kUsualTasks = 16;  // of a job array
constexpr int kMostJobs = 10'000;        // as many as a sweep has points

SweepTable table_of(const SweepPlan& plan, const std::vector<std::optional<SweepRow>>& rows) {
  SweepTable table{plan.name(), plan.columns(), {}};
  for (const auto& row : rows) {
    table.rows.push_back(row.value());
  }
  return table;
}

void write_files(const SweepTable& table, const fs::path& folder) {
  write_whole_file(folder / "sweep.csv", sweep_csv(table));
  write_whole_file(folder / "sweep.json", sweep_json(table));
  Page page{"sweep", table.name, best_sentence(table), sweep_json(table)};
  for (const PlotFile& plot : sweep_plots(table)) {
    write_whole_file(folder / plot.name, plot.svg);
    page.pictures.push_back({plot.name.substr(0, plot.name.find('.')), plot.svg});
  }
  write_whole_file(folder / kReportPage, page_html(page));
}

int exit_code_of(const SweepTable& table) {
  const bool any_is_done = std::ranges::any_of(table.rows, &SweepRow::is_done);
  return any_is_done ? kExitOk : table.rows.front().outcome.exit_code;
}

/// The table shortens what went wrong; here it is in full, each message once.
void say_failures(const SweepTable& table) {
  constexpr std::size_t kMost = 5;
  std::vector<std::string> messages;
  for (const SweepRow& row : table.rows) {
    if (!row.is_done() && std::ranges::find(messages, row.outcome.message) == messages.end()) {
      messages.push_back(row.outcome.message);
    }
  }
  for (std::size_t i = 0; i < std::min(messages.size(), kMost); ++i) {
    fmt::print(stderr, "{}{}\n", i == 0 ? "\n" : "", messages[i]);
  }
  if (messages.size() > kMost) {
    fmt::print(stderr, "and {} more messages in sweep.csv\n", messages.size() - kMost);
  }
}

/// All points are done: the table, wherever it goes.
int report(const SweepTable& table, const SweepCommandOptions& options, const fs::path& folder) {
  write_files(table, folder);
  if (options.json == "-") {
    fmt::print("{}", sweep_json(table));
  } else {
    fmt::print("{}", sweep_text(table));
  }
  if (!options.json.empty() && options.json != "-") {
    write_whole_file(options.json, sweep_json(table));
  }
  say_failures(table);
  if (!options.quiet) {
    fmt::print(stderr,
               "\nresults in {0}: sweep.csv, sweep.json, plots, and a folder of points\nlook at them: {1}\n",
               folder.string(), (folder / kReportPage).string());
  }
  return exit_code_of(table);
}

int write_slurm_script(const SweepCommandOptions& options, const SweepPlan& plan, const fs::path& scenario,
                       const fs::path& folder) {
  SlurmJob job;
  job.name = plan.name();
  job.program = fs::read_symlink("/proc/self/exe");
  job.scenario = fs::absolute(scenario).lexically_normal();
  job.folder = fs::absolute(folder).lexically_normal();
  job.assignments = options.assignments;
  const std::size_t tasks = options.jobs > 0 ? static_cast<std::size_t>(options.jobs) : kUsualTasks;
  job.tasks = static_cast<int>(std::min(tasks, plan.points().size()));
  fs::create_directories(folder);  // for the logs
  write_whole_file(options.slurm, slurm_script(job));
  fmt::print("{} points for {} tasks; to begin: sbatch {}\n", plan.points().size(), job.tasks,
             shell_quoted(options.slurm));
  return kExitOk;
}

void say_how_to_go_on(const SweepEnd& end, const SweepPlan& plan, const fs::path& folder) {
  fmt::print(stderr,
             "stopped: {} of {} points are done and kept in {}; the same command goes on with the rest\n",
             end.recorded(), plan.points().size(), folder.string());
}

}  // namespace

int sweep_command(const SweepCommandOptions& options) {
  const Progress progress{options.quiet};
  const Environment environment = process_environment();
  const SweepPlace place = sweep_place(options.shard, environment);
  const auto standard = ConfigPath::standard();
  const fs::path scenario = scenario_path(options.scenario, standard);
  progress.say("reading the points of " + scenario.string());
  const SweepPlan plan{scenario, standard, overrides_of(options.assignments)};
  const fs::path folder = result_folder(options.folder, scenario);
  if (!options.slurm.empty()) {
    if (scenario == kStandardInput) {
      throw std::invalid_argument{
          "--slurm: the tasks of the array read the scenario again: give its file, not -"};
    }
    progress.done();
    return write_slurm_script(options, plan, scenario, folder);
  }
  check_outputs({options.json});
  const SweepOptions run{folder, options.jobs > 0 ? options.jobs : usual_jobs(place, environment), place};
  const SweepEnd end = run_sweep(plan, run, progress);
  if (end.interruption != 0) {
    say_how_to_go_on(end, plan, folder);
    end_by(end.interruption);
  }
  const bool all_are_done = end.recorded() == plan.points().size();
  if (all_are_done && (place.waits || !options.shard.empty())) {
    return report(table_of(plan, end.rows), options, folder);
  }
  if (!options.quiet && !place.is_alone()) {
    fmt::print(stderr, "process {} of {}: {} points simulated; {} of {} are done\n", place.rank, place.size,
               end.simulated, end.recorded(), plan.points().size());
  }
  return kExitOk;
}

void add_sweep_command(CLI::App& app, std::function<int()>& action) {
  const auto options = std::make_shared<SweepCommandOptions>();
  CLI::App* command =
      app.add_subcommand("sweep", "predict all points of a scenario's matrix: a table, plots, the best one");
  command->footer(
      "examples:\n"
      "  lockstep sweep how_many_nics -o nics\n"
      "  lockstep sweep gpt2_8xa100 --set workload.global_batch=32,64,128 --set "
      "parallelism.bucket=5MiB,25MiB\n"
      "  mpirun -n 8 lockstep sweep how_many_nics -o nics         processes share the points\n"
      "  lockstep sweep how_many_nics -o nics --slurm nics.sh     a job array that does");
  command
      ->add_option("SCENARIO", options->scenario,
                   "a name of lockstep list, a scenario.yaml, its folder, or - for stdin")
      ->required();
  command->add_option("-o,--output", options->folder,
                      "folder for the results (default: lockstep-out/NAME); points that it has are kept");
  command
      ->add_option("--set", options->assignments,
                   "KEY=A,B,C: an axis of the matrix; KEY=VALUE: override a value of all points")
      ->allow_extra_args(false);
  command->add_option("-j,--jobs", options->jobs, "points at a time (default: cores); with --slurm: tasks")
      ->check(CLI::Range(1, kMostJobs));
  command->add_option("--shard", options->shard,
                      "I/N: this is process I of N, counted from 0, that share the folder");
  command->add_option("--slurm", options->slurm, "write a job-array script into this file, simulate nothing");
  command->add_option("--json", options->json, "the table as JSON; - for stdout instead of the text");
  command->add_flag("-q,--quiet", options->quiet, "nothing on stderr but errors");
  command->callback([options, &action] { action = [options] { return sweep_command(*options); }; });
}

}  // namespace lockstep
