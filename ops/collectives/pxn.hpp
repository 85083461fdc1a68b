#pragma once

#include "ops/collectives/comm_algorithm.hpp"

namespace lockstep {

/// Direct, but a message to a GPU of another node first goes over NVLink to the GPU of the sender's node
/// whose NIC is on the receiver's rail, and that GPU sends it ("PCI x NVLink"). No message changes rails in
/// the network, and a GPU talks to one peer a node in place of all.
///
///   all-to-all   even, k nodes of m GPUs, n = k m: k/n of the buffer on each pair of a node,
///                m/n on each pair of a rail; steps: one inside, one between nodes; they overlap
///   uneven       a message's bytes on both of its edges
///   send         the one message over its relay
///
/// The relay of a message to d: among the group's members of the sender's node the one with d's number in its
/// node names the NIC, and that NIC's nearest member is the relay (GroupLayout::relay_of). Without one the
/// message goes as in direct.
/// Chunks: src * n + dst; send and receive 0.
///
/// Source: NCCL 2.12 src/graph/search.cc, ncclTopoGetNetDev (NCCL_P2P_PXN_LEVEL 2, the default: always), and
/// src/graph/paths.cc, ncclTopoComputePaths (the relay reaches the NIC without a CPU, and the sender over
/// NVLink); "Doubling all2all performance with NVIDIA Collective Communication Library 2.12" (NVIDIA
/// technical blog, 2022).
extern const CommAlgorithmRow kPxn;

}  // namespace lockstep
