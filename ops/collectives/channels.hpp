#pragma once

#include <span>

#include "ops/collectives/collective_plan.hpp"
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

/// The communicator of @p members, as it carries messages between them.
[[nodiscard]] MessageCarrier carrier_of(const Fabric& fabric, std::span<const VertexId> members);

/// Channels that carry one message of @p size between GPUs of a node over NVSwitches, of @p all that a GPU
/// has (a power of two): as many as leave one for every member, and twice as many for as long as more than 16
/// MiB (32 of the 512 KiB steps of a channel's buffer) are left to each. 2 where the communicator spans
/// nodes.
///
/// Source: NCCL src/enqueue.cc, scheduleP2pTasksToPlan and calcP2pChannelCount (2.12 to 2.28),
/// src/graph/paths.cc, ncclTopoComputeP2pChannels: the fewest channels to any peer are those to all.
[[nodiscard]] int message_channels(const MessageCarrier& carrier, Bytes size, int all);

}  // namespace lockstep
