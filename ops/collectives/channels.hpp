#pragma once

#include <span>

#include "topology/fabric.hpp"

namespace lockstep {

/// NCCL's channels of a communicator, each a thread block that holds an SM, where the machine limits them:
///   between nodes     2 for each NIC that the members of a node leave by, of the node with the fewest
///   beside NVLink     2 in a node
///   over NVLink       no limit but the GPU's own: std::numeric_limits<int>::max()
///
/// Source: NCCL finds one ring for each NIC, at its rate, and then takes every ring twice
/// (src/graph/search.cc; src/graph/connect.cc, ncclTopoPostset: "Duplicate channels"): 16 on eight NICs. A
/// message to a peer over the network or PCIe has 2 (src/graph/paths.cc, ncclTopoGetNchannels).
[[nodiscard]] int channel_limit(const Fabric& fabric, std::span<const VertexId> members);

}  // namespace lockstep
