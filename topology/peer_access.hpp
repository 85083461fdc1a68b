#pragma once

/// @file
/// Which GPUs of a node NCCL lets exchange directly, and the way through host memory of those it does not.

#include <optional>
#include <string>
#include <vector>

#include "base/config_path.hpp"
#include "topology/fabric.hpp"

namespace lockstep {

/// What decides on peer access besides the wires.
struct PeerAccess {
  std::vector<bool> over_pcie;    ///< by GPU in rank order: GpuSpec::pcie_peer_access
  std::optional<P2pLevel> level;  ///< NCCL_P2P_LEVEL; none: NCCL's own rule
  std::size_t gpus_used = 0;      ///< the job takes the first so many; 0: all
};

/// @p fabric with `p2p_level` of every GPU set: the farthest peer it exchanges with directly.
///
///   NCCL's own level   PXB: not across a CPU's host bridge; SYS where a job has at most two GPUs in a
///                      node of AMD CPUs
///   without peer access over PCIe in the driver at most NVL
///
/// Where some pair of a node has to go through host memory, that of each socket of known `memory_bandwidth`
/// is drawn: a vertex `cpu0.memory` with a link for what is written and one for what is read. DRAM does one
/// or the other, and a message does both in equal amounts: each link has half of the bandwidth. A fabric in
/// which no pair has to is returned as it is.
///
/// Source: NCCL src/graph/paths.cc, ncclTopoCheckP2p (2.8 to 2.28); NCCL_P2P_LEVEL in the user guide.
/// @throws std::invalid_argument when two GPUs of a node need host memory and a socket is missing
[[nodiscard]] Fabric with_peer_access(const Fabric& fabric, const PeerAccess& access);

/// Whether the driver of each GPU of @p fabric, in rank order, lets others reach its memory over PCIe, by the
/// configurations of the models drawn.
/// @throws std::invalid_argument for a model without one
[[nodiscard]] std::vector<bool> peers_over_pcie(const Fabric& fabric, const ConfigPath& configs);

/// `LOC`, ..., `SYS`. @throws std::invalid_argument with the words there are
[[nodiscard]] P2pLevel p2p_level_of(const std::string& word);

/// How far apart the two ends of @p route, two GPUs, are; none when it leaves the node.
[[nodiscard]] std::optional<P2pLevel> distance(const Fabric& fabric, const Route& route);

/// Whether NCCL lets @p from and @p to exchange directly over @p route. GPUs of different nodes always do
/// here.
[[nodiscard]] bool are_peers(const Fabric& fabric, VertexId from, VertexId to, const Route& route);

/// The way of NCCL's SHM transport: the sender's kernel writes into memory of the receiver's socket, whose
/// own kernel reads it.
///
/// Source: NCCL src/transport/shm.cc (NCCL_SHM_LOCALITY 2, the receiver's side).
/// @throws std::invalid_argument when @p to has no socket
[[nodiscard]] Route through_host_memory(const Fabric& fabric, VertexId from, VertexId to, std::uint64_t flow);

}  // namespace lockstep
