#include "app/commands/validate.hpp"

#include <fmt/core.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <memory>
#include <thread>

#include "app/row_predictions.hpp"
#include "app/validation_json.hpp"
#include "base/error.hpp"
#include "base/file.hpp"
#include "base/yaml_reader.hpp"
#include "calibration/validation_text.hpp"

namespace lockstep {
namespace {

constexpr int kMost = 1'000'000;  // of rows left out, of processes: beyond it something was mistyped

struct ValidateOptions {
  std::string set = "dlrm_single_gpu";
  std::string data;
  std::string json;  ///< `-`: to stdout instead of the tables
  bool all = false;
  std::size_t every = 1;
  std::size_t jobs = std::max(1U, std::thread::hardware_concurrency());
};

int validate_command(const ValidateOptions& options) {
  const Validation validation =
      validate_set(options.set, ConfigPath::standard(), {options.data, options.every, options.jobs});
  if (options.json == "-") {
    fmt::print("{}", validation_json(validation));
    return 0;
  }
  if (!options.json.empty()) {
    write_whole_file(options.json, validation_json(validation));
  }
  fmt::print("{}", validation_text(validation, options.all ? PrintedPoints::All : PrintedPoints::FewOrWorst));
  return 0;
}

}  // namespace

std::filesystem::path usual_data_folder(const std::filesystem::path& set_file) {
  const auto tree = std::filesystem::absolute(set_file).parent_path().parent_path().parent_path();
  return (tree / ".." / "shared" / "data").lexically_normal();
}

Validation validate_set(const std::string& name, const ConfigPath& configs, const ValidationRun& run) {
  const auto file =
      is_path(name) ? std::filesystem::path{name} : configs.find(ValidationSet::kConfigKind, name);
  const auto set = read_file<ValidationSet>(file, configs);
  const auto folder = run.data.empty() ? usual_data_folder(file) : run.data;
  if (!std::filesystem::exists(folder / set.table)) {
    throw InputError{
        {(folder / set.table).string()},
        fmt::format("the measurements of '{}' are not here: they are no part of Lockstep; say where with "
                    "--data FOLDER",
                    set.name)};
  }
  const auto predict = [&](std::span<const ScenarioSettings> rows) {
    return predict_rows(set.name, rows, configs, run.jobs);
  };
  return validate(set, folder, predict, run.every);
}

void add_validate_command(CLI::App& app, std::function<int()>& action) {
  const auto options = std::make_shared<ValidateOptions>();
  CLI::App* command =
      app.add_subcommand("validate", "compare predictions with measured training steps, point by point");
  command->footer(
      "examples:\n"
      "  lockstep validate\n"
      "  lockstep validate gpt_single_node_a100 --every 20\n"
      "  lockstep validate dlrm_single_gpu --data ../shared/data --json errors.json");
  command->add_option("SET", options->set, "a name of lockstep list validation, or a file")
      ->capture_default_str();
  command->add_option("--data", options->data,
                      "folder of the measured tables (default: ../shared/data beside the checkout)");
  command->add_option("--json", options->json,
                      "points and errors as JSON; - for stdout instead of the tables");
  command->add_flag("--all", options->all, "print every point of a large table, not only the worst");
  command->add_option("--every", options->every, "compare a sample: each so-manieth row")
      ->check(CLI::Range(1, kMost))
      ->capture_default_str();
  command->add_option("--jobs", options->jobs, "processes that predict (default: one for each processor)")
      ->check(CLI::Range(1, kMost));
  command->callback([options, &action] { action = [options] { return validate_command(*options); }; });
}

}  // namespace lockstep
