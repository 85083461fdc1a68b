#include "app/commands/validate.hpp"

#include <fmt/core.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <memory>

#include "app/metrics_json.hpp"
#include "app/prediction.hpp"
#include "app/validation_json.hpp"
#include "base/file.hpp"
#include "base/yaml_reader.hpp"
#include "calibration/validation_text.hpp"

namespace lockstep {
namespace {

struct ValidateOptions {
  std::string set = "dlrm_single_gpu";
  std::string data;
  std::string json;  ///< `-`: to stdout instead of the tables
};

int validate_command(const ValidateOptions& options) {
  const Validation validation = validate_set(options.set, options.data, ConfigPath::standard());
  if (options.json == "-") {
    fmt::print("{}", validation_json(validation));
    return 0;
  }
  if (!options.json.empty()) {
    write_whole_file(options.json, validation_json(validation));
  }
  fmt::print("{}", validation_text(validation));
  return 0;
}

}  // namespace

std::filesystem::path usual_data_folder(const std::filesystem::path& set_file) {
  const auto tree = std::filesystem::absolute(set_file).parent_path().parent_path().parent_path();
  return (tree / ".." / "shared" / "data").lexically_normal();
}

PredictedTimes predict_row(const std::string& name, const ScenarioSettings& settings,
                           const ConfigPath& configs, EngineMode engine) {
  YamlDocument document = YamlDocument::from_text(fmt::format("name: a row of {}\n", name), name);
  for (const auto& [key, value] : settings) {
    document.set(key, value);
  }
  const Setting setting = build(document, configs);
  const SimulationResult result = predict(setting, nullptr, engine);
  return {result.mean_step(), Seconds{gpu_busy_per_step(result, setting.job.steps)}};
}

Validation validate_set(const std::string& name, const std::filesystem::path& data,
                        const ConfigPath& configs) {
  const auto file = configs.find(ValidationSet::kConfigKind, name);
  const auto set = read_file<ValidationSet>(file, configs);
  const auto folder = data.empty() ? usual_data_folder(file) : data;
  if (!std::filesystem::exists(folder / set.table)) {
    throw InputError{
        {(folder / set.table).string()},
        fmt::format("the measurements of '{}' are not here: they are no part of Lockstep; say where with "
                    "--data FOLDER",
                    set.name)};
  }
  return validate(set, folder, [&](const ScenarioSettings& settings) {
    return predict_row(set.name, settings, configs, EngineMode::Bare);
  });
}

void add_validate_command(CLI::App& app, std::function<int()>& action) {
  const auto options = std::make_shared<ValidateOptions>();
  CLI::App* command =
      app.add_subcommand("validate", "compare predictions with measured training steps, point by point");
  command->footer(
      "examples:\n"
      "  lockstep validate\n"
      "  lockstep validate dlrm_single_gpu --data ../shared/data --json errors.json");
  command->add_option("SET", options->set, "a name of lockstep list validation, or a file")
      ->capture_default_str();
  command->add_option("--data", options->data,
                      "folder of the measured tables (default: ../shared/data beside the checkout)");
  command->add_option("--json", options->json,
                      "points and errors as JSON; - for stdout instead of the tables");
  command->callback([options, &action] { action = [options] { return validate_command(*options); }; });
}

}  // namespace lockstep
