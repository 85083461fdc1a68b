#include "schedule/phase_scenarios.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/effective.hpp"
#include "base/yaml_value.hpp"
#include "scenario/scenario_file.hpp"
#include "schedule/kept_tables.hpp"

namespace lockstep {
namespace {

constexpr const char* kSchedule = "schedule";
constexpr const char* kCampaign = "campaign";

/// Overrides of one phase, each with the place that asks for it.
class PhaseWriter {
 public:
  PhaseWriter(YamlDocument& document, SourceLocation at) : document_{document}, at_{std::move(at)} {}

  void set(const std::string& key_path, YamlNode value) {
    place(value);
    document_.set(key_path, std::move(value));
  }
  template <class Value>
  void set_if_said(const std::string& key_path, const std::optional<Value>& value) {
    if (value) {
      set(key_path, yaml_of(*value));
    }
  }

 private:
  void place(YamlNode& node) const {
    if (node.at.line == 0) {
      node.at = at_;
    }
    for (YamlNode& item : node.items) place(item);
    for (YamlEntry& entry : node.entries) {
      entry.at = entry.at.line == 0 ? at_ : entry.at;
      place(entry.value);
    }
  }

  YamlDocument& document_;
  SourceLocation at_;
};

void write_batch(const PhaseSpec& phase, PhaseWriter& writer) {
  writer.set_if_said("workload.global_batch", phase.batch);
  writer.set_if_said("workload.micro_batch", phase.micro_batch);
  writer.set_if_said("workload.sequence", phase.sequence);
  writer.set_if_said("workload.model.cnn.image_size", phase.image_size);
  writer.set_if_said("workload.precision", phase.precision);
  writer.set_if_said("workload.freeze", phase.freeze);
  for (const YamlEntry& entry : phase.parallelism.entries) {
    writer.set("parallelism." + entry.key, entry.value);
  }
}

/// @throws InputError for an override that belongs to another kind of model
void expect_family(const PhaseSpec& phase, const ModelSpec& model) {
  if (phase.image_size && !model.cnn) {
    throw InputError{phase.at, fmt::format("phase '{}': image_size: convolutional networks have images; this "
                                           "model is none",
                                           phase.name)};
  }
}

bool are_alike(const std::vector<KeptWidth>& a, const std::vector<KeptWidth>& b) {
  return std::ranges::equal(a, b, {}, &KeptWidth::kept, &KeptWidth::kept);
}

/// The phase with the widths that are asked for; std::nullopt where those are what it has, or do not divide.
std::optional<YamlDocument> unrounded(const PhaseScenario& phase, const PhaseSpec& spec,
                                      const ModelSpec& model, const TransformerPlanSpec& plan) {
  try {
    KeptModel asked = kept_model(model, spec.keep, 1, plan);
    keep_single_tables(spec.tables, 1, asked);
    if (are_alike(asked.widths, phase.widths)) {
      return std::nullopt;
    }
    YamlDocument document = phase.document;
    PhaseWriter writer{document, phase.at};
    for (const auto& [key, value] : asked.changes) {
      writer.set("workload.model." + key, value);
    }
    return document;
  } catch (const FieldError&) {
    return std::nullopt;
  }
}

/// Tells phases apart that differ in zeros alone, which no key of a scenario has.
std::string zeros_of(const PhaseSpec& phase) {
  if (phase.sparsity) {
    return phase.sparsity->backward ? "sparse" : "sparse forward";
  }
  return phase.mask ? "masked" : "";
}

PhaseScenario phase_scenario(const ScheduledScenario& whole, const PlannedPhase& planned,
                             const YamlNode& root, const ConfigPath& configs) {
  const WorkloadSpec& workload = *whole.scenario.workload;
  const PhaseSpec& phase = planned.spec;
  expect_family(phase, *workload.model);
  ParallelismSpec parallelism = whole.scenario.parallelism;
  const SourceLocation at = phase.at.line > 0 ? phase.at : place_of(root, planned.key_path);
  PhaseScenario scenario = whole.full;
  scenario.name = phase.name;
  scenario.at = at;
  scenario.from = planned.from;
  scenario.until = planned.until;
  scenario.mask = phase.mask;
  scenario.sparsity = phase.sparsity;
  scenario.frozen = phase.freeze.value_or(std::vector<std::string>{});
  PhaseWriter writer{scenario.document, at};
  write_batch(phase, writer);
  if (!phase.parallelism.entries.empty()) {
    parallelism = read_document<ScenarioSpec>(scenario.document, configs).parallelism;
  }
  const std::int64_t multiple =
      usual_multiple(*workload.model, phase.precision.value_or(workload.precision), phase.round);
  try {
    KeptModel kept = kept_model(*workload.model, phase.keep, multiple, parallelism.transformer);
    keep_single_tables(phase.tables, multiple, kept);
    for (auto& [key, value] : kept.changes) {
      writer.set("workload.model." + key, std::move(value));
    }
    scenario.widths = std::move(kept.widths);
    scenario.structures = kept.structures;
  } catch (const FieldError& problem) {
    const bool is_of_tables = problem.key() == "tables";
    const std::string phase_path = planned.key_path.substr(0, planned.key_path.rfind('.'));
    throw InputError{place_of(root, (is_of_tables ? phase_path : planned.key_path) + "." + problem.key()),
                     fmt::format("phase '{}': {}: {}", phase.name, problem.key(), problem.what())};
  }
  scenario.unrounded = unrounded(scenario, phase, *workload.model, parallelism.transformer);
  scenario.meaning = meaning_of(scenario.document, configs) + zeros_of(phase);
  return scenario;
}

TrainingLengthSpec length_of(const ScenarioSpec& scenario, const SourceLocation& at) {
  const bool in_campaign = scenario.campaign && scenario.campaign->length;
  if (scenario.schedule) {
    if (in_campaign) {
      throw InputError{at, "campaign: length: the schedule says how long the training is: leave it out here"};
    }
    return scenario.schedule->length;
  }
  if (!in_campaign) {
    throw InputError{at, scenario.campaign
                             ? "campaign: how long is the training? say length: { steps: 100000 }, "
                               "or give a schedule"
                             : "this scenario has neither a schedule nor a campaign: say which "
                               "phases the training has (docs/schedules.md), or 'lockstep run' it"};
  }
  return *scenario.campaign->length;
}

}  // namespace

SourceLocation place_of(const YamlNode& root, const std::string& key_path) {
  const YamlNode* node = &root;
  SourceLocation at = root.at;
  for (std::size_t begin = 0; begin < key_path.size();) {
    const std::size_t dot = std::min(key_path.find('.', begin), key_path.size());
    const std::string key = key_path.substr(begin, dot - begin);
    begin = dot + 1;
    std::size_t item = 0;
    if (const YamlEntry* entry = node->find(key)) {
      at = entry->at;
      node = &entry->value;
    } else if (std::from_chars(key.data(), key.data() + key.size(), item).ec == std::errc{} &&
               item < node->items.size()) {
      node = &node->items[item];
      at = node->at;
    } else {
      break;
    }
  }
  return at;
}

std::string meaning_of(const YamlDocument& document, const ConfigPath& configs) {
  return effective_values(type_of<ScenarioSpec>(), document, configs);
}

ScheduledScenario scheduled_scenario(const YamlDocument& document, const ConfigPath& configs) {
  ScheduledScenario whole{read_document<ScenarioSpec>(document, configs),
                          {"full", document.root().at, 0, 1, document, {}, {}, 0, {}, {}, {}, {}},
                          {},
                          {}};
  const YamlNode& root = document.root();
  whole.length = length_of(whole.scenario, place_of(root, kCampaign));
  if (!whole.scenario.workload) {
    throw InputError{place_of(root, "trace"),
                     "a schedule trains a workload: the phases of a trace are not known"};
  }
  (void)whole.full.document.take(kSchedule);
  (void)whole.full.document.take(kCampaign);
  whole.full.meaning = meaning_of(whole.full.document, configs);
  if (!whole.scenario.schedule) {
    whole.phases.push_back(whole.full);
    return whole;
  }
  for (const PlannedPhase& planned : planned_phases(*whole.scenario.schedule)) {
    whole.phases.push_back(phase_scenario(whole, planned, root, configs));
  }
  return whole;
}

YamlDocument with_plan(YamlDocument phase, EmbeddingPlan plan, std::size_t tables) {
  for (TableShardingSpec& entry : plan.tables) {
    std::erase_if(entry.tables,
                  [&](std::int64_t table) { return static_cast<std::size_t>(table) >= tables; });
  }
  std::erase_if(plan.tables, [](const TableShardingSpec& entry) { return entry.tables.empty(); });
  phase.set("parallelism.embedding.plan", yaml_of(plan));
  return phase;
}

}  // namespace lockstep
