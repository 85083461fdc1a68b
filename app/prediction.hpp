#pragma once

/// @file
/// From a scenario to its result: builds the machine and the job, simulates, and keeps what reports need.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/scenario.hpp"
#include "base/config_path.hpp"
#include "base/yaml_document.hpp"
#include "sim/simulation.hpp"

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
};

/// @throws InputError at the place in the scenario that does not fit
[[nodiscard]] Setting build(const YamlDocument& document, const ConfigPath& configs);

/// @param engine in place of the scenario's: EngineMode::Bare for many predictions in one process
/// @throws StallError
[[nodiscard]] SimulationResult predict(const Setting& setting, TimelineSink* timeline,
                                       std::optional<EngineMode> engine = std::nullopt);

/// Relative half-width of the step time's error from the kernel models' bands: every kernel of rank 0 off in
/// the same direction, in proportion to the compute time that the step spends.
[[nodiscard]] double kernel_band(const Setting& setting);

}  // namespace lockstep
