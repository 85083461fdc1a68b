#pragma once

#include "base/config_path.hpp"
#include "base/yaml_document.hpp"

namespace lockstep {

/// A scenario's cluster with more or fewer of its own nodes.
struct GrownCluster {
  YamlDocument document;  ///< the scenario with that cluster
  int nodes = 0;
  int gpus_of_node = 0;  ///< that ranks are on
};

/// The scenario on as many whole nodes as @p gpus ranks need: the nodes of its cluster, its network between
/// them. `parallelism.ranks` is @p gpus.
/// @throws InputError at the cluster for one that does not grow by itself: drawn, of several kinds of nodes,
///   or a torus; std::invalid_argument for a number that leaves a node in part
[[nodiscard]] GrownCluster with_gpus(YamlDocument document, const ConfigPath& configs, int gpus);

/// Ranks of the scenario as it is. @throws InputError as reading it does
[[nodiscard]] int gpus_of_scenario(const YamlDocument& document, const ConfigPath& configs);

}  // namespace lockstep
