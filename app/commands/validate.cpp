#include "app/commands/validate.hpp"

#include <fmt/core.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <stdexcept>
#include <thread>
#include <tuple>
#include <utility>

#include "app/answer.hpp"
#include "app/notes.hpp"
#include "app/report/page.hpp"
#include "app/validation_json.hpp"
#include "base/error.hpp"
#include "base/file.hpp"
#include "base/yaml_reader.hpp"
#include "calibration/error_chart.hpp"
#include "calibration/error_summary.hpp"
#include "calibration/measured_rows.hpp"
#include "calibration/residual_plot.hpp"
#include "calibration/validation_text.hpp"
#include "scenario/row_predictions.hpp"
#include "sim/log.hpp"

namespace lockstep {
namespace {

constexpr int kMost = 1'000'000;  // of rows left out, of processes: beyond it something was mistyped

struct ValidateOptions {
  std::vector<std::string> sets;
  bool all = false;  ///< sets
  std::string data;
  AnswerOptions answer;
  std::string plot;  ///< folder; empty: no plots
  bool points = false;
  bool default_host = false;
  std::size_t every = 1;
  std::size_t jobs = std::max(1U, std::thread::hardware_concurrency());
};

/// The first table of a set that is not in a folder.
std::optional<std::filesystem::path> missing_table(const ValidationSet& set,
                                                   const std::filesystem::path& folder) {
  for (const std::string& file : set.files()) {
    if (!std::filesystem::exists(folder / file)) {
      return folder / file;
    }
  }
  return std::nullopt;
}

/// The folder of a set's tables: the one of measurements, given or usual, else the set's own, where small
/// tables are shipped. The former where they are in neither.
std::filesystem::path folder_of_tables(const ValidationSet& set, const std::filesystem::path& set_file,
                                       const std::filesystem::path& data) {
  auto folder = data.empty() ? usual_data_folder(set_file) : data;
  const auto beside = std::filesystem::absolute(set_file).parent_path();
  return missing_table(set, folder) && !missing_table(set, beside) ? beside : folder;
}

bool is_of_host(const std::string& key) {
  return key == "host" || key.starts_with("host.");
}

/// Rows without what the set says of their host.
std::vector<ScenarioSettings> on_default_host(std::vector<ScenarioSettings> rows) {
  for (ScenarioSettings& row : rows) {
    std::erase_if(row, [](const auto& setting) { return is_of_host(setting.first); });
  }
  return rows;
}

/// The way to predict @p rows of a set.
RowSet predicted_as(const ValidationSet& set, std::span<const ScenarioSettings> rows,
                    const ConfigPath& configs) {
  constexpr std::size_t kRowsOfATask = 256;  // a row takes far less than its machine does
  switch (set.predicts) {
    case PredictedThing::Step:
      return step_rows(set.name, rows, configs);
    case PredictedThing::Kernel:
      return {rows, [&configs](auto some) { return predict_kernels(some, configs); }, kRowsOfATask};
    case PredictedThing::Collective:
      return {rows, [&configs](auto some) { return predict_collectives(some, configs); }, kRowsOfATask};
  }
  throw std::logic_error{"predicted_as: unknown PredictedThing"};
}

/// Files that rows name (gpu: ../my_gpu.yaml) are looked up from the set's folder, as its tables are.
std::vector<ScenarioSettings> with_files_beside(std::vector<ScenarioSettings> rows,
                                                const std::filesystem::path& set_file) {
  const auto folder = std::filesystem::absolute(set_file).parent_path();
  for (ScenarioSettings& row : rows) {
    for (auto& [key, value] : row) {
      if (is_path(value) && std::filesystem::is_regular_file(folder / value)) {
        value = (folder / value).lexically_normal().string();
      }
    }
  }
  return rows;
}

/// All sets whose measurements are at hand; stderr names the others.
std::vector<std::string> sets_at_hand(const ConfigPath& configs, const std::filesystem::path& data) {
  std::vector<std::string> sets;
  for (const std::string& name : configs.names(ValidationSet::kConfigKind)) {
    const auto file = configs.find(ValidationSet::kConfigKind, name);
    const auto set = read_file<ValidationSet>(file, configs);
    if (const auto table = missing_table(set, folder_of_tables(set, file, data))) {
      note("{}: left out, its measurements are not here: {}\n", name, table->string());
    } else {
      sets.push_back(name);
    }
  }
  if (sets.empty()) {
    throw std::invalid_argument{"no set's measurements are here: say where with --data FOLDER"};
  }
  return sets;
}

std::vector<std::string> sets_of(const ValidateOptions& options, const ConfigPath& configs) {
  if (options.all) {
    return sets_at_hand(configs, options.data);
  }
  return options.sets.empty() ? std::vector<std::string>{"dlrm_single_gpu"} : options.sets;
}

/// One object, or a list of them.
std::string json_of(const std::vector<Validation>& validations) {
  if (validations.size() == 1) {
    return validation_json(validations.front());
  }
  std::string text;
  for (const Validation& validation : validations) {
    text += (text.empty() ? "[" : ",") + validation_json(validation);
  }
  return text + "]\n";
}

std::string text_of(const std::vector<Validation>& validations, PrintedPoints points) {
  std::string text;
  for (const Validation& validation : validations) {
    text += validation_text(validation, points) + "\n";
  }
  return validations.size() > 1 ? text + validation_summary(validations) : text;
}

std::string sentence_of(const std::vector<Validation>& validations) {
  std::vector<double> errors;
  for (const Validation& validation : validations) {
    for (const ValidationPoint& point : validation.points) {
      errors.push_back(point.step.error());
    }
  }
  if (errors.empty()) {
    return "No point was compared.";
  }
  const ErrorSummary summary = summarise(errors);
  return fmt::format(
      "{} measured points of {} sets: predictions are off by {:.1f} % on average, nine in ten by "
      "at most {:.1f} %, with a bias of {:+.1f} %.",
      errors.size(), validations.size(), 100 * summary.mean, 100 * summary.ninetieth, 100 * summary.bias);
}

/// A residual plot of each set and, of several sets, a chart of all errors for each kind of thing predicted;
/// and a page with all of them.
void draw(const std::vector<Validation>& validations, const std::filesystem::path& folder) {
  std::filesystem::create_directories(folder);
  const std::string title = validations.size() == 1 ? validations.front().set.title
                                                    : fmt::format("{} validation sets", validations.size());
  Page page{"validate", title, sentence_of(validations), json_of(validations)};
  const auto put = [&](const std::string& file, const std::string& name, std::string svg) {
    write_whole_file(folder / file, svg);
    page.pictures.push_back({name, std::move(svg)});
  };
  constexpr std::array kCharts{std::tuple{PredictedThing::Step, "all_steps.svg", "Training steps"},
                               std::tuple{PredictedThing::Kernel, "all_kernels.svg", "Kernels"},
                               std::tuple{PredictedThing::Collective, "all_collectives.svg", "Collectives"}};
  for (const auto& [thing, file, name] : kCharts) {
    const auto rows =
        validations.size() < 2 ? std::vector<ErrorChartRow>{} : error_chart_rows(validations, thing);
    if (!rows.empty()) {
      put(file, name, error_chart(name, rows));
    }
  }
  for (const Validation& validation : validations) {
    put(validation.set.name + ".svg", validation.set.title, to_svg(residuals_of(validation)));
  }
  write_whole_file(folder / kReportPage, page_html(page));
}

int validate_command(const ValidateOptions& options) {
  check_answer(options.answer);
  const auto configs = ConfigPath::standard();
  const std::vector<Validation> validations = validate_sets(
      sets_of(options, configs), configs, {options.data, options.every, options.jobs, options.default_host});
  if (!options.plot.empty()) {
    draw(validations, options.plot);
  }
  give_answer(options.answer,
              text_of(validations, options.points ? PrintedPoints::All : PrintedPoints::FewOrWorst),
              [&] { return json_of(validations); });
  return 0;
}

}  // namespace

std::filesystem::path usual_data_folder(const std::filesystem::path& set_file) {
  const auto tree = std::filesystem::absolute(set_file).parent_path().parent_path().parent_path();
  return (tree / ".." / "shared" / "data").lexically_normal();
}

namespace {

/// The rows of a set as its tables and @p run have them.
MeasuredSet rows_of(const std::string& name, const ConfigPath& configs, const ValidationRun& run) {
  if (name.ends_with(".csv") || name.ends_with(".csv.gz")) {
    throw InputError{{name},
                     "is a table: name the set that says what its columns are, a YAML file like "
                     "configs/validation/nanogpt_a100.yaml (docs/validation.md)"};
  }
  const auto file = configs.find_or_file(ValidationSet::kConfigKind, name);
  const auto set = read_file<ValidationSet>(file, configs);
  const auto folder = folder_of_tables(set, file, run.data);
  const auto beside = std::filesystem::absolute(file).parent_path();
  if (const auto table = missing_table(set, folder); table && is_path(name) && run.data.empty()) {
    throw InputError{
        {missing_table(set, beside)->string()},
        fmt::format("no such file: the table of '{}' is looked up beside the set, or in --data FOLDER",
                    set.name)};
  }
  if (const auto table = missing_table(set, folder)) {
    throw InputError{
        {table->string()},
        fmt::format("the measurements of '{}' are not here: they are no part of Lockstep; say where with "
                    "--data FOLDER",
                    set.name)};
  }
  MeasuredSet measured = measured_set(set, folder, run.every);
  measured.rows = with_files_beside(std::move(measured.rows), file);
  if (run.default_host) measured.rows = on_default_host(std::move(measured.rows));
  return measured;
}

}  // namespace

std::vector<Validation> validate_sets(const std::vector<std::string>& names, const ConfigPath& configs,
                                      const ValidationRun& run) {
  std::vector<MeasuredSet> measured;
  std::vector<RowSet> rows;
  for (const std::string& name : names) {
    measured.push_back(rows_of(name, configs, run));
  }
  for (const MeasuredSet& set : measured) {
    rows.push_back(predicted_as(set.validation.set, set.rows, configs));
  }
  std::size_t done = 0;
  const auto tell = [&](std::size_t set) {
    if (names.size() > 1) {
      note("{} of {}: {}\n", ++done, names.size(), names[set]);
    }
  };
  const std::vector<std::vector<PredictedTimes>> times = predict_side_by_side(rows, run.jobs, tell);
  std::vector<Validation> validations;
  for (std::size_t set = 0; set < names.size(); ++set) {
    validations.push_back(compared(std::move(measured[set]), times[set]));
    if (const std::string doubts = doubts_about_unit(validations.back()); !doubts.empty())
      log_of(LogComponent::App).warn("{}", doubts);
  }
  return validations;
}

Validation validate_set(const std::string& name, const ConfigPath& configs, const ValidationRun& run) {
  return std::move(validate_sets({name}, configs, run).front());
}

void add_validate_command(CLI::App& app, std::function<int()>& action) {
  const auto options = std::make_shared<ValidateOptions>();
  CLI::App* command = app.add_subcommand(
      "validate",
      "compare predictions with measured training steps, kernels and collectives, point by point");
  command->footer(
      "examples:\n"
      "  lockstep validate\n"
      "  lockstep validate gpt_single_node_a100 --every 20\n"
      "  lockstep validate --all --plot out/residuals        every set, one summary, aims beside what is "
      "reached\n"
      "  lockstep validate dlrm_single_gpu --data ../shared/data --json errors.json");
  command->add_option("SET", options->sets,
                      "names of lockstep list validation, or files (default: dlrm_single_gpu)");
  command->add_flag("--all", options->all, "every set whose measurements are at hand")->excludes("SET");
  command->add_option(
      "--data", options->data,
      "folder of the measured tables (default: ../shared/data beside the checkout); those that are "
      "shipped are beside their set");
  add_answer_options(*command, options->answer);
  command->add_option(
      "--plot", options->plot,
      "folder for report.html, a residual plot (SVG) of each set and, of several, charts of all errors");
  command->add_flag("--default-host", options->default_host,
                    "predict steps on the host that a scenario without one gets, not on the one that the set "
                    "names: what a new user sees");
  command->add_flag("--points", options->points, "print every point of a large table, not only the worst");
  command->add_option("--every", options->every, "compare a sample: each so-manieth row")
      ->check(CLI::Range(1, kMost))
      ->capture_default_str();
  command
      ->add_option("--jobs", options->jobs,
                   "processes that predict rows, of all sets (default: one for each processor)")
      ->check(CLI::Range(1, kMost));
  command->callback([options, &action] { action = [options] { return validate_command(*options); }; });
}

}  // namespace lockstep
