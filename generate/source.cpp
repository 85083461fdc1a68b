#include "generate/source.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <utility>

#include "base/effective.hpp"
#include "base/error.hpp"
#include "base/yaml_reader.hpp"
#include "base/yaml_text.hpp"
#include "scenario/machine_spec.hpp"
#include "scenario/opened_scenario.hpp"
#include "scenario/prediction.hpp"
#include "scenario/replay_run.hpp"
#include "traces/pytorch_et/trace_reader.hpp"

namespace lockstep::generate {
namespace {

constexpr const char *kMachine = "machine.yaml", *kRecordedMachine = "recorded_machine.yaml";

/// Whether this names Kineto traces: a JSON file, or a folder that holds no scenario.
bool is_trace(const std::string& name) {
  const std::filesystem::path path{name};
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) {
    return !std::filesystem::exists(path / "scenario.yaml", ignored);
  }
  return name.ends_with(".json") || name.ends_with(".json.gz");
}

std::string plain_text(const YamlNode& tree) {
  return block_text(tree, [](const YamlNode& /*node*/) { return std::string{}; });
}

YamlNode scalar(const std::string& text) {
  return yaml_node(YamlNode::Kind::Scalar, {}, text);
}

/// The scenario without what takes place there.
std::string machine_text(const YamlDocument& document, const ConfigPath& configs,
                         const ResolvedScenario& resolved) {
  constexpr auto kOfJobs =
      std::to_array<std::string_view>({"name", "host", "workload", "trace", "steps", "matrix", "memory",
                                       "price_per_gpu_hour", "interference"});
  YamlNode tree = effective_tree(type_of<ScenarioSpec>(), document, configs);
  std::erase_if(tree.entries, [&](const YamlEntry& entry) {
    return std::ranges::find(kOfJobs, entry.key) != kOfJobs.end();
  });
  for (YamlEntry& entry : tree.entries) {
    if (entry.key == "parallelism") {
      std::erase_if(entry.value.entries, [](const YamlEntry& of_plan) {
        return of_plan.key != "ranks" && of_plan.key != "ranks_per_node";
      });
    }
  }
  tree.entries.insert(tree.entries.begin(), {"name", {}, scalar("machine of a benchmark")});
  tree.entries.push_back({"interference", {}, scalar(resolved.scenario.interferes() ? "true" : "false")});
  if (!resolved.has_launches) {
    tree.entries.push_back({"gaps_in_durations", {}, scalar("true")});
  }
  return "# The machine that lockstep generate --check simulates the program on.\n" + plain_text(tree);
}

/// The value of a scenario's key, defaults included. @throws std::invalid_argument where it has none
double number_at(const OpenedScenario& opened, const char* of_workload) {
  const YamlNode tree = effective_tree(type_of<ScenarioSpec>(), opened.document, opened.configs);
  const YamlEntry* const workload = tree.find("workload");
  const YamlEntry* const entry = workload == nullptr ? nullptr : workload->value.find(of_workload);
  const double value = entry == nullptr ? 0 : std::atof(entry->value.scalar.c_str());
  if (!(value > 0)) {
    throw std::invalid_argument{
        fmt::format("--scale: {} has no workload.{}", opened.path.string(), of_workload)};
  }
  return value;
}

/// Adds the precision and the batch that are asked for.
std::vector<Override> scaled(const SourceOptions& options) {
  std::vector<Override> overrides = options.overrides;
  if (!options.precision.empty()) {
    overrides.push_back({"workload.precision", options.precision});
  }
  if (options.batch_scale != 1) {
    const double batch =
        options.batch_scale * number_at(open_scenario(options.sources.front(), overrides), "global_batch");
    if (batch != std::floor(batch) || batch < 1) {
      throw std::invalid_argument{fmt::format("--scale: a batch of {} samples is no whole number", batch)};
    }
    overrides.push_back({"workload.global_batch", fmt::format("{:.0f}", batch)});
  }
  return overrides;
}

Source source_of_scenario(const SourceOptions& options) {
  const auto [path, configs, document] = open_scenario(options.sources.front(), scaled(options));
  ResolvedScenario resolved = build(document, configs);
  Source made;
  made.benchmark =
      benchmark_of(resolved.job, resolved.gpu_models, resolved.gpu_model_of_rank, options.target);
  made.machine_file = {kMachine, machine_text(document, configs, resolved)};
  made.machine = std::make_shared<const Machine>(std::move(resolved));
  return made;
}

YamlDocument document_of(const std::vector<Override>& overrides) {
  YamlDocument document = YamlDocument::from_text("{}\n", "--set");
  for (const Override& given : overrides) {
    document.set(given.key_path, given.value);
  }
  return document;
}

std::string recorded_machine_text(const YamlDocument& document, const ConfigPath& configs,
                                  const ReplaySpec& spec) {
  std::string text =
      "# The machine that lockstep generate --check simulates the program on; nothing: as recorded.\n";
  if (!spec.cluster) {
    return text + "{}\n";
  }
  YamlNode tree = effective_tree(type_of<ReplaySpec>(), document, configs);
  std::erase_if(tree.entries,
                [](const YamlEntry& entry) { return entry.key != "cluster" && entry.key != "collectives"; });
  return text + plain_text(tree);
}

Source source_of_traces(const SourceOptions& options) {
  if (!options.precision.empty() || options.batch_scale != 1) {
    throw std::invalid_argument{
        "--precision and --scale are of scenarios: kernels of traces have the sizes and times that were "
        "recorded"};
  }
  const auto configs = ConfigPath::standard();
  const YamlDocument document = document_of(options.overrides);
  const ReplayRun run{options.sources, document, configs};
  Source made;
  std::vector<pytorch_et::ExecutionTrace> execution_traces;
  for (const auto& file : run.spec().execution_traces) {
    execution_traces.push_back(pytorch_et::read_execution_trace(file));
  }
  made.benchmark = benchmark_of(run.replay(), execution_traces, options.target);
  made.machine = std::make_shared<const Machine>(run.machine());
  made.machine_file = {kRecordedMachine, recorded_machine_text(document, configs, run.spec())};
  return made;
}

}  // namespace

SimulationResult Machine::simulate(const Job& job, TimelineSink* timeline) const {
  if (const auto* recorded = std::get_if<std::shared_ptr<const RecordedMachine>>(&machine_)) {
    return (*recorded)->simulate(job, 1, timeline);
  }
  ResolvedScenario scenario = std::get<ResolvedScenario>(machine_);
  scenario.job = job;
  scenario.gpu_model_of_rank.resize(job.ranks.size());
  const bool needs_simgrid =
      scenario.scenario.network == ScenarioNetwork::Flows || scenario.scenario.engine == ScenarioEngine::S4u;
  return predict(scenario, timeline, needs_simgrid ? std::nullopt : std::optional{EngineMode::Bare});
}

const Fabric& Machine::fabric() const {
  const auto* recorded = std::get_if<std::shared_ptr<const RecordedMachine>>(&machine_);
  return recorded != nullptr ? (*recorded)->fabric() : std::get<ResolvedScenario>(machine_).fabric;
}

Source open_source(const SourceOptions& options) {
  const bool of_traces = std::ranges::any_of(options.sources, is_trace);
  if (!of_traces && options.sources.size() > 1) {
    throw InputError{{options.sources[1]}, "one scenario, or the traces of one job: this is more"};
  }
  return of_traces ? source_of_traces(options) : source_of_scenario(options);
}

PlacedJob place(Job job, const std::filesystem::path& folder) {
  const ConfigPath configs = ConfigPath::standard().beside(folder);
  std::error_code ignored;
  if (std::filesystem::exists(folder / kMachine, ignored)) {
    const YamlDocument document = YamlDocument::from_file(folder / kMachine);
    auto machine = std::make_shared<const Machine>(build_machine(document, configs, job));
    for (std::size_t rank = 0; rank < job.ranks.size(); ++rank) {
      job.ranks[rank].gpu = machine->fabric().gpus()[rank];
    }
    return {std::move(job), std::move(machine)};
  }
  const YamlDocument document = YamlDocument::from_file(folder / kRecordedMachine);
  const auto spec = read_document<ReplaySpec>(document, configs);
  auto machine = std::make_shared<const Machine>(
      std::make_shared<const RecordedMachine>(spec, job.ranks.size(), configs, document.root().at));
  for (std::size_t rank = 0; rank < job.ranks.size(); ++rank) {
    job.ranks[rank].gpu = machine->fabric().gpus()[rank];
  }
  return {std::move(job), std::move(machine)};
}

}  // namespace lockstep::generate
