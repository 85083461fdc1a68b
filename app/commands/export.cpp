#include "app/commands/export.hpp"

#include <fmt/core.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <array>
#include <filesystem>
#include <memory>

#include "app/interruption.hpp"
#include "app/result_folder.hpp"
#include "app/trace_conversion.hpp"
#include "base/effective.hpp"
#include "base/file.hpp"
#include "base/progress.hpp"
#include "base/yaml_text.hpp"
#include "scenario/opened_scenario.hpp"
#include "scenario/prediction.hpp"
#include "scenario/scenario_file.hpp"
#include "traces/chakra/job_writer.hpp"

namespace lockstep {
namespace {

/// The scenario with the traces in place of what they were made from.
std::string scenario_of_traces(const YamlDocument& document, const ConfigPath& configs,
                               const ResolvedScenario& resolved, const ChakraFiles& files) {
  constexpr std::array kOfWorkloads{
      "host",  "workload", "trace",       "parallelism",
      "steps", "matrix",   "interference"};  // whose default is another for traces
  YamlNode tree = effective_tree(type_of<ScenarioSpec>(), document, configs);
  std::erase_if(tree.entries, [&](const YamlEntry& entry) {
    return std::ranges::find(kOfWorkloads, entry.key) != kOfWorkloads.end();
  });
  YamlNode trace = yaml_node(YamlNode::Kind::Mapping, {});
  const auto say = [&](const std::string& key, const std::string& value) {
    trace.entries.push_back({key, {}, yaml_node(YamlNode::Kind::Scalar, {}, value)});
  };
  say("chakra", files.name_of("%d"));
  say("ranks", fmt::format("{}", resolved.job.ranks.size()));
  if (!resolved.job.groups.empty()) {
    say("groups", files.name_of_groups());
  }
  say("repeats", fmt::format("{}", resolved.job.steps));
  tree.entries.push_back(
      {"interference",
       {},
       yaml_node(YamlNode::Kind::Scalar, {}, resolved.scenario.interferes() ? "true" : "false")});
  tree.entries.push_back({"trace", {}, std::move(trace)});
  return "# The traces beside this file, on the machine that their kernels were timed for (lockstep "
         "export).\n" +
         block_text(tree, [](const YamlNode& /*node*/) { return std::string{}; });
}

}  // namespace

int export_command(const ExportOptions& options) {
  const Progress progress{options.quiet};
  const auto [path, configs, document] = open_scenario(options.scenario, options.overrides);
  progress.say("building " + path.string());
  const ResolvedScenario resolved = build(document, configs);
  ResultFolder results{result_folder(options.folder, path), is_of_chakra};
  const Interruption interruption{[&results] {
    remove_unfinished_files();
    results.abandon();
  }};
  ChakraFiles files;
  files.folder = results.staged();
  files.gzip = options.gzip;
  files.fold = options.fold;
  files.dialect = options.for_astra_sim ? ChakraDialect::AstraSim : ChakraDialect::Lockstep;
  const std::size_t ranks = resolved.job.ranks.size();
  const TimedJob job{&resolved.job, resolved.gpu_models, resolved.gpu_model_of_rank, resolved.has_launches};
  ChakraExport written;
  try {
    written = write_chakra(job, files, [&](std::uint32_t done) {
      progress.say(fmt::format("writing traces: {} of {}", done, ranks));
    });
  } catch (const std::invalid_argument& problem) {
    throw InputError{{path.string()}, problem.what()};
  }
  write_whole_file(files.folder / "scenario.yaml", scenario_of_traces(document, configs, resolved, files));
  results.commit();
  progress.done();
  if (!options.quiet) {
    fmt::print("{} traces ({} different, {:.1f} MB) in {}: {}\nrun them: lockstep run {}\n", ranks,
               written.different, 1e-6 * static_cast<double>(written.nodes_bytes), results.path().string(),
               files.name_of("0"), (results.path() / "scenario.yaml").string());
  }
  return 0;
}

void add_export_command(CLI::App& app, std::function<int()>& action) {
  const auto options = std::make_shared<ExportOptions>();
  const auto assignments = std::make_shared<std::vector<std::string>>();
  const auto format = std::make_shared<std::string>("chakra");
  const auto dialect = std::make_shared<std::string>("lockstep");
  CLI::App* command =
      app.add_subcommand("export", "write what the ranks of a scenario do as execution traces");
  command->footer(
      "examples:\n"
      "  lockstep export gpt2_8xa100 -o traces            a Chakra trace a rank, and a scenario that runs "
      "them\n"
      "  lockstep export my/scenario.yaml -o traces --gzip --set workload.global_batch=64");
  command
      ->add_option("SCENARIO", options->scenario,
                   "a name of lockstep list, a scenario.yaml, its folder, or - for stdin")
      ->required();
  command->add_option("-o,--output", options->folder, "folder for the traces (default: lockstep-out/NAME)");
  command->add_option("--format", *format, "chakra (ET, wire format of schema 0.0.4 and 1.0.0)")
      ->check(CLI::IsMember({"chakra"}));
  command
      ->add_option(
          "--dialect", *dialect,
          "lockstep (default: hosts and GPUs; comes back as it was), astra-sim (nodes of the GPU alone, "
          "in whole microseconds, as ASTRA-sim's feeder reads them)")
      ->check(CLI::IsMember({"lockstep", "astra-sim"}));
  command->add_option("--set", *assignments, "KEY=VALUE: override a value, e.g. parallelism.ranks=4")
      ->allow_extra_args(false);
  command->add_flag("--gzip", options->gzip, "files .et.gz");
  command->add_flag("--fold", options->fold,
                    "ranks that do alike share a file; their process groups stand in the file of groups, "
                    "which Lockstep alone reads so");
  command->add_flag("-q,--quiet", options->quiet, "nothing but errors");
  command->callback([options, assignments, format, dialect, &action] {
    action = [options, assignments, format, dialect] {
      if (options->fold && *dialect != "lockstep") {
        throw InputError{{"--fold"},
                         fmt::format("files of --dialect {} name each rank: leave --fold out", *dialect)};
      }
      options->for_astra_sim = *dialect == "astra-sim";
      options->overrides = overrides_of(*assignments);
      return export_command(*options);
    };
  });
}

}  // namespace lockstep
