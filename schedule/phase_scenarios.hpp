#pragma once

/// @file
/// Each phase of a schedule as a scenario of its own, which `lockstep run` takes.

#include <optional>
#include <string>
#include <vector>

#include "base/config_path.hpp"
#include "base/yaml_document.hpp"
#include "scenario/scenario.hpp"
#include "schedule/kept_model.hpp"

namespace lockstep {

struct PhaseScenario {
  std::string name;
  SourceLocation at;           ///< of the phase in the scenario
  double from = 0, until = 1;  ///< shares of the training
  YamlDocument document;       ///< without schedule and campaign
  std::string meaning;         ///< equal for phases that are alike
  std::vector<KeptWidth> widths;
  double structures = 0;  ///< rows, columns, heads and so on that are chosen among
  std::optional<MaskSpec> mask;
  std::optional<SparsitySpec> sparsity;
  std::vector<std::string> frozen;        ///< parts that are not trained, where the phase says so
  std::optional<YamlDocument> unrounded;  ///< with the widths that were asked for, where rounding changed any
};

/// A scenario with a schedule or a campaign, taken apart.
struct ScheduledScenario {
  ScenarioSpec scenario;  ///< as it is written
  PhaseScenario full;     ///< the full model, all the time
  TrainingLengthSpec length;
  std::vector<PhaseScenario> phases;  ///< one full phase where there is no schedule
};

/// @throws InputError for a scenario that has neither, or a phase that does not fit the model
[[nodiscard]] ScheduledScenario scheduled_scenario(const YamlDocument& document, const ConfigPath& configs);

/// The phase with all tables where the full model has them, those that it does not have left out.
/// @param plan of the full model
[[nodiscard]] YamlDocument with_plan(YamlDocument phase, EmbeddingPlan plan, std::size_t tables);

/// The nearest place to a key of the document that is written down.
[[nodiscard]] SourceLocation place_of(const YamlNode& root, const std::string& key_path);

/// The meaning of a scenario, wherever it was written.
[[nodiscard]] std::string meaning_of(const YamlDocument& document, const ConfigPath& configs);

}  // namespace lockstep
