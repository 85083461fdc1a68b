#pragma once

#include <cstdint>
#include <vector>

#include "base/config_path.hpp"
#include "base/yaml_document.hpp"
#include "ops/gpu/gpu_spec.hpp"
#include "ops/workload/rank_placement.hpp"
#include "scenario/scenario.hpp"
#include "topology/fabric.hpp"

namespace lockstep {

/// The kinds of GPUs of a machine, and the number of each rank's.
struct Gpus {
  std::vector<GpuSpec> models;
  std::vector<std::uint32_t> of_rank;
};

/// The machine of a scenario as its ranks take it.
struct PlacedMachine {
  Fabric fabric;
  RankPlacement placement;  ///< of a workload
  Gpus gpus;
};

/// The machine with the scenario's faults, the ranks on their GPUs and the peers that NCCL lets exchange.
/// @param scenario of @p document; gets the number of ranks where it says how many a node has
/// @throws InputError at the place in the document that does not fit
[[nodiscard]] PlacedMachine placed_machine(const YamlDocument& document, ScenarioSpec& scenario,
                                           const ConfigPath& configs);

}  // namespace lockstep
