#pragma once

/// @file
/// What NCCL's transport between nodes makes of a plan (docs/collectives.md, "Between nodes").

#include "ops/collectives/collective_profile.hpp"
#include "ops/collectives/comm_algorithm.hpp"
#include "ops/collectives/plan_costs.hpp"
#include "topology/network_fabric.hpp"

namespace lockstep {

/// One algorithm and protocol of a group that spans nodes.
struct NetworkPass {
  CommAlgorithm algorithm = CommAlgorithm::Ring;
  CommProtocol protocol = CommProtocol::Simple;
  StepCount steps;
  int channels = 2;          ///< of the communicator (channel_limit)
  bool has_amd_cpu = false;  ///< in a node of the group
};

/// @p costs as they are between nodes: a step inside a node takes the proxy's post at least, one between
/// nodes what @p fabric adds, and a handshake for each message too large to go without; all of a ring with
/// Simple is slower by the fabric's ring_slowdown, base included.
///
/// Source: NCCL src/graph/tuning.cc, ncclTopoTuneModel and ncclTopoGetAlgoTime ("plateau effect").
[[nodiscard]] ProtocolCosts costs_between_nodes(ProtocolCosts costs, const CollectiveRequest& request,
                                                const GroupLayout& layout, const NetworkPass& pass,
                                                const NetworkFabric& fabric);

/// Adds to @p price, which is priced with costs_between_nodes(), what depends on how its bytes are cut:
///
///   rings         a chunk waits for the one before it: chain of steps P and time on the links Q overlap as
///                 (P^3 + Q^3)^(1/3); P = loops * steps + what one chunk's messages take on the links
///   trees         a step between nodes passes on a whole chunk of every channel: its time on the links a
///                 step
///   all pairs     the proxy threads' messages M and Q overlap in the same way
///   LL            no faster than a proxy thread finds flags in host memory: 1.2 GB/s of payload, measured on
///                 one GPU a node of eX3 (1.16) and on Polaris
///   messages      no faster than two channels
///   all           no faster than a proxy thread that copies
void charge_network(PlanPrice& price, const CollectiveRequest& request, const RoutedTraffic& traffic,
                    const GroupLayout& layout, const NetworkPass& pass, const NetworkFabric& fabric);

/// False for the ideal network: nobody cuts what is sent into messages.
[[nodiscard]] bool has_proxy(const NetworkFabric& fabric);

/// False for what @p fabric's environment forbids.
[[nodiscard]] bool is_allowed(const NetworkFabric& fabric, const CollectiveRequest& request,
                              CommAlgorithm algorithm, CommProtocol protocol);

}  // namespace lockstep
