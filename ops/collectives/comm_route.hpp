#pragma once

#include "ops/collectives/nvlinks.hpp"
#include "topology/fabric.hpp"

namespace lockstep {

/// The links a collective's message takes from GPU to GPU: Fabric::route; through the memory of the
/// receiver's socket where the two are no peers (topology/peer_access.hpp); between nodes through that of the
/// sockets where NICs do not read or write a GPU's own (topology/nic_access.hpp); and for two GPUs of a node
/// that would have to leave NVLink for PCIe while a third GPU has NVLinks to both. Then NCCL's kernels pass
/// the message through that GPU's memory (the widest such way, of equally wide ones over the GPU of the
/// lowest number): on a DGX-1V 12 of the 28 pairs.
///
/// Source: NCCL src/graph/paths.cc, ncclTopoSetPaths (PATH_NVB, "connection through an intermediate GPU"),
/// since 2.11; NCCL_NVB_DISABLE in the user guide. Check: all-to-all on 8 V100 reaches 45.8 GB/s of bus
/// bandwidth (collective_fit_params_v100.csv), over PCIe it would be 11.
[[nodiscard]] Route comm_route(const Fabric& fabric, const NvLinks& nvlinks, VertexId from, VertexId to,
                               std::uint64_t flow);

/// Whether the receiver reads that message from the host's memory: of two GPUs of a node that NCCL does not
/// let exchange directly (topology/peer_access.hpp), nor through a third one, or where a NIC does not write
/// the receiver's own.
[[nodiscard]] bool is_read_from_host_memory(const Fabric& fabric, const NvLinks& nvlinks, VertexId from,
                                            VertexId to);

}  // namespace lockstep
