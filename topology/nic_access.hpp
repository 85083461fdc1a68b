#pragma once

/// @file
/// Between nodes: whether NICs read and write a GPU's memory themselves (GPUDirect RDMA), and the way through
/// host memory where they do not.

#include <set>
#include <span>
#include <vector>

#include "topology/fabric.hpp"

namespace lockstep {

/// A NIC's rights to a GPU's memory.
enum class NicAccess : std::uint8_t {
  Full,             ///< read and write it
  ReadsWithNvLink,  ///< write it; read it where the GPU has an NVLink to another one of its node, or is alone
  None,             ///< neither
};

/// Ends of a message between nodes that pass through the memory of a socket.
struct Staging {
  bool sender = false;
  bool receiver = false;
};

/// Sets how far a NIC may be that reads and that writes each of @p gpus (`nic_read_level`, `nic_write_level`
/// of
/// @p vertices, which are those of @p fabric), and says of which nodes the GPUs need host memory on their way
/// to the network: NCCL has the NIC read or write a GPU's memory where @p level reaches from one to the other
/// and the GPU's own @p access allows it. A GPU on its CPU by NVLink-C2C counts as near as PXB.
///
/// Source: NCCL src/graph/paths.cc, ncclTopoCheckGdr (2.8 to 2.28: PXB, reads before Ampere with NVLink
/// alone; NCCL_NET_GDR_C2C since 2.27); NCCL_NET_GDR_LEVEL in the user guide.
/// @param access by GPU in rank order; shorter: Full
/// @throws std::invalid_argument when a GPU needs host memory and its node has no socket
[[nodiscard]] std::set<int> limit_nics(const Fabric& fabric, std::vector<Vertex>& vertices,
                                       std::span<const NicAccess> access, P2pLevel level, std::size_t gpus);

/// Staging of a message over @p route, which Fabric::route gave for two GPUs; none where it passes no NIC.
[[nodiscard]] Staging staging_of(const Fabric& fabric, VertexId from, VertexId to, const Route& route);

/// @p route with the memory that @p staging asks for: the sender's kernel writes into that of its own socket,
/// where the NIC reads; at the other end the NIC writes into that of the receiver's socket, where its kernel
/// reads.
///
/// Source: NCCL src/transport/net.cc (buffers of a proxy's own node, in host memory without GPUDirect RDMA).
[[nodiscard]] Route through_sockets(const Fabric& fabric, VertexId from, VertexId to, const Route& route,
                                    Staging staging, std::uint64_t flow);

}  // namespace lockstep
