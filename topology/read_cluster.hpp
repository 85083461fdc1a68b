#pragma once

#include <string>

#include "base/config_path.hpp"
#include "topology/cluster_spec.hpp"

namespace lockstep {

/// The cluster that a text stands for, as in a scenario: `dgx_a100 x 4`, `dgx_a100` for one node, a name of
/// configs/clusters, a file.
/// @throws InputError with everything that is wrong
[[nodiscard]] ClusterSpec read_cluster(const std::string& text,
                                       const ConfigPath& configs = ConfigPath::standard());

}  // namespace lockstep
