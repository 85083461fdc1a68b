#include "scenario/placed_machine.hpp"

#include <map>
#include <string>
#include <utility>

#include "base/yaml_reader.hpp"
#include "ops/gpu/gpu_access.hpp"
#include "scenario/scenario_places.hpp"
#include "scenario/shared_parts.hpp"
#include "topology/failure.hpp"
#include "topology/gpu_model.hpp"
#include "topology/peer_access.hpp"

namespace lockstep {
namespace {

Gpus gpus_of(const ScenarioSpec& scenario, const Fabric& fabric, const ConfigPath& configs) {
  Gpus gpus;
  std::map<std::string, std::uint32_t> known;
  for (const VertexId vertex : fabric.gpus()) {
    const std::string model = scenario.gpu ? std::string{} : fabric.vertices()[vertex].model;
    const auto [entry, fresh] = known.try_emplace(model, static_cast<std::uint32_t>(gpus.models.size()));
    if (fresh) {
      gpus.models.push_back(scenario.gpu ? **scenario.gpu
                                         : read_file<GpuSpec>(configs.find("gpus", model), configs));
    }
    gpus.of_rank.push_back(entry->second);
  }
  return gpus;
}

/// The machine as NCCL takes it: which GPUs of a node exchange directly, and which NICs reach their memory.
Fabric with_peers(const YamlDocument& document, const ScenarioSpec& scenario, const Fabric& fabric,
                  const Gpus& gpus) {
  PeerAccess access;
  access.level = {scenario.collectives.p2p_level, scenario.collectives.net_gdr_level};
  access.gpus_used = static_cast<std::size_t>(scenario.trace ? scenario.trace->ranks.value_or(0)
                                                             : scenario.parallelism.ranks.value_or(0));
  for (const std::uint32_t model : gpus.of_rank) {
    access.gpus.push_back(access_of(gpus.models[model]));
  }
  return at_key(document,
                access.level.p2p       ? "collectives.p2p_level"
                : access.level.net_gdr ? "collectives.net_gdr_level"
                                       : "cluster",
                [&] { return peers_or_shared(fabric, access); });
}

/// Puts the ranks of a workload on their GPUs: those of a trace are where it was made.
RankPlacement placed(const YamlDocument& document, ScenarioSpec& scenario, Fabric& fabric) {
  if (scenario.trace) {
    return {};
  }
  ParallelismSpec& parallelism = scenario.parallelism;
  const RankPlacement placement = at_key(document, "parallelism.ranks_per_node",
                                         [&] { return place_ranks(parallelism, node_sizes(fabric)); });
  if (placement.leaves_gpus()) {
    fabric = fabric.with_rank_order(gpus_by_rank(placement, fabric));
  }
  if (parallelism.ranks_per_node) {
    parallelism.ranks = placement.ranks;
  }
  return placement;
}

}  // namespace

PlacedMachine placed_machine(const YamlDocument& document, ScenarioSpec& scenario,
                             const ConfigPath& configs) {
  Fabric fabric = scenario.cluster->fabric();
  if (!scenario.vary.links.empty()) {
    fabric = at_key(document, "vary.links", [&] { return with_faults(fabric, scenario.vary.links); });
  }
  if (!scenario.vary.failed.empty()) {
    fabric = at_key(document, "vary.failed", [&] { return without_failed(fabric, scenario.vary.failed); });
  }
  const RankPlacement placement = placed(document, scenario, fabric);
  Gpus gpus = at_key(document, "cluster", [&] { return gpus_of(scenario, fabric, configs); });
  if (scenario.gpu) {
    fabric = with_gpu_model(fabric, (*scenario.gpu)->name);
  }
  fabric = with_peers(document, scenario, fabric, gpus);
  return {std::move(fabric), placement, std::move(gpus)};
}

}  // namespace lockstep
