#pragma once

/// @file
/// A scenario with all that it names read, built and checked: machine, kernels' and collectives' models, job.

#include <cstdint>
#include <vector>

#include "base/config_path.hpp"
#include "base/error.hpp"
#include "base/yaml_document.hpp"
#include "ops/collectives/collective_planner.hpp"
#include "ops/workload/rank_placement.hpp"
#include "scenario/scenario.hpp"
#include "ops/job.hpp"
#include "traces/import_report.hpp"

namespace lockstep {

/// Everything a scenario names, built.
struct ResolvedScenario {
  ScenarioSpec scenario;
  Fabric fabric;
  std::vector<GpuSpec> gpu_models;
  std::vector<std::uint32_t> gpu_model_of_rank;
  HostOverheads host;
  CollectiveProfile profile;
  Job job;
  SourceLocation collectives_at;    ///< what cannot be planned is told there
  SourceLocation cluster_at;        ///< what the machine does not say is told there
  double host_scale = 1;            ///< on all host times, beside what the scenario varies
  bool has_launches = true;         ///< false: of a trace whose durations hold what lies between kernels
  ImportReport import_report = {};  ///< what is odd about the traces of the scenario
  RankPlacement placement = {};     ///< of a workload
};

/// @throws InputError at the place in the scenario that does not fit
[[nodiscard]] ResolvedScenario build(const YamlDocument& document, const ConfigPath& configs);

/// What the scenario says of its collectives, for a planner on its fabric.
[[nodiscard]] CollectiveOptions collective_options(const ResolvedScenario& resolved);

/// The scenario as it can be run from anywhere: the names of trace files, which start from its folder, in
/// full.
[[nodiscard]] YamlDocument portable(YamlDocument document, const ConfigPath& configs);

/// `vary.host`, with the spread that the host's profile has where it is to be as measured.
/// @throws std::invalid_argument where it has none
[[nodiscard]] JitterSpec host_jitter(const JitterSpec& asked, const HostOverheads& host);

}  // namespace lockstep
