#pragma once

/// @file
/// From a scenario to its result: builds the machine and the job, simulates, and keeps what reports need.

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/scenario.hpp"
#include "base/config_path.hpp"
#include "base/error.hpp"
#include "base/yaml_document.hpp"
#include "ops/collectives/collective_planner.hpp"
#include "ops/workload/rank_placement.hpp"
#include "sim/known_kernels.hpp"
#include "sim/simulation.hpp"
#include "traces/import_report.hpp"

namespace lockstep {

/// Everything a scenario names, built.
struct Setting {
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
[[nodiscard]] Setting build(const YamlDocument& document, const ConfigPath& configs);

/// What the scenario says of its collectives, for a planner on its fabric.
[[nodiscard]] CollectiveOptions collective_options(const Setting& setting);

/// The scenario as it can be run from anywhere: the names of trace files, which start from its folder, in
/// full.
[[nodiscard]] YamlDocument portable(YamlDocument document, const ConfigPath& configs);

/// The setting as a simulation takes it; what it points to is the setting's and the planner's.
[[nodiscard]] SimulationInput simulation_input(const Setting& setting, const CollectivePlanner& planner);
[[nodiscard]] SimulationOptions simulation_options(const Setting& setting);
/// For many simulations of which only the steps' ends are wanted: neither critical path nor activity.
[[nodiscard]] SimulationOptions step_end_options(const Setting& setting);
/// By GPU model, for SimulationInput::known_kernels.
[[nodiscard]] std::vector<KnownKernels> nothing_known(const std::vector<GpuSpec>& models);

/// @param engine in place of the scenario's: EngineMode::Bare for many predictions in one process
/// @throws StallError
[[nodiscard]] SimulationResult predict(const Setting& setting, TimelineSink* timeline,
                                       std::optional<EngineMode> engine = std::nullopt);

/// Who listens to a run.
struct TimelineRequest {
  TimelineSink* sink = nullptr;      ///< null: nobody
  std::vector<std::uint32_t> ranks;  ///< whose spans it gets; empty: those simulated
};
/// Asked when it is known which ranks are simulated: all, or one for each class of alike ones.
using OpenTimeline = std::function<TimelineRequest(const std::vector<std::uint32_t>& simulated)>;
[[nodiscard]] SimulationResult predict(const Setting& setting, const OpenTimeline& open_timeline);

}  // namespace lockstep
