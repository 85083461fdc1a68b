#pragma once

/// @file
/// Which GPUs of a node NCCL lets exchange directly, and the way through host memory of those it does not.
/// Between nodes: topology/nic_access.hpp.

#include <optional>
#include <string>
#include <vector>

#include "base/config_path.hpp"
#include "topology/fabric.hpp"
#include "topology/nic_access.hpp"

namespace lockstep {

/// Rights that a GPU's driver and NIC's driver give others to its memory.
struct GpuAccess {
  bool over_pcie = true;             ///< GpuSpec::pcie_peer_access
  NicAccess nics = NicAccess::Full;  ///< GpuSpec::nic_access
  bool operator==(const GpuAccess&) const = default;
};

/// NCCL's settings; none: its own rules.
struct AccessLevels {
  std::optional<P2pLevel> p2p;      ///< NCCL_P2P_LEVEL
  std::optional<P2pLevel> net_gdr;  ///< NCCL_NET_GDR_LEVEL
  bool operator==(const AccessLevels&) const = default;
};

/// Settings that decide on peer access besides the wires.
struct PeerAccess {
  std::vector<GpuAccess> gpus;  ///< in rank order; left out: all that there is
  AccessLevels level;
  std::size_t gpus_used = 0;  ///< the job takes the first so many; 0: all
  bool operator==(const PeerAccess&) const = default;
};

/// @p fabric with `p2p_level` of every GPU set: the farthest peer it exchanges with directly, and where the
/// job takes several nodes how far the NICs may be that read and write its memory (limit_nics()).
///
///   NCCL's own level   PXB: not across a CPU's host bridge; SYS where a job has at most two GPUs in a
///                      node of AMD CPUs
///   without peer access over PCIe in the driver at most NVL
///
/// Where some pair of a node, or a message to another one, has to go through host memory, that of each socket
/// is drawn (draw_host_memory()). A fabric in which none has to is returned as it is.
///
/// Source: NCCL src/graph/paths.cc, ncclTopoCheckP2p (2.8 to 2.28); NCCL_P2P_LEVEL in the user guide.
/// @throws std::invalid_argument when GPUs need host memory and a socket is missing
[[nodiscard]] Fabric with_peer_access(const Fabric& fabric, const PeerAccess& access);

/// `LOC`, ..., `SYS`. @throws std::invalid_argument with the words there are
[[nodiscard]] P2pLevel p2p_level_of(const std::string& word);

/// How far apart the two ends of @p route, two GPUs, are; none when it leaves the node.
[[nodiscard]] std::optional<P2pLevel> distance(const Fabric& fabric, const Route& route);

/// Whether NCCL lets @p from and @p to exchange directly over @p route. GPUs of different nodes always do
/// here: what NICs may read and write is staging_of()'s.
[[nodiscard]] bool are_peers(const Fabric& fabric, VertexId from, VertexId to, const Route& route);

/// The way of NCCL's SHM transport: the sender's kernel writes into memory of the receiver's socket, whose
/// own kernel reads it.
///
/// Source: NCCL src/transport/shm.cc (NCCL_SHM_LOCALITY 2, the receiver's side).
/// @throws std::invalid_argument when @p to has no socket
[[nodiscard]] Route through_host_memory(const Fabric& fabric, VertexId from, VertexId to, std::uint64_t flow);

}  // namespace lockstep
