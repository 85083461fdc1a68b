#pragma once

#include <string>
#include <vector>

#include "app/topology_text.hpp"
#include "topology/fabric.hpp"

namespace lockstep {

/// The JSON of `lockstep topology --json`, keys in docs/topology.md. SI units, in the names of the keys.
[[nodiscard]] std::string topology_json(const std::string& title, const Fabric& fabric,
                                        const std::vector<AskedRoute>& routes);

}  // namespace lockstep
