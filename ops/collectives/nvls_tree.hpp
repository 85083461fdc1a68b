#pragma once

#include "ops/collectives/comm_algorithm.hpp"

namespace lockstep {

/// All-reduce of k nodes of m members each behind NVSwitches that add (NCCL's NVLSTree, since 2.18): in every
/// node the switches give each member the sum of its 1/m of the buffer, as nvls does; members at the same
/// place of the nodes sum these over the two trees of `tree`, half each; the switches hand the results to
/// all.
///
///   within nodes     (1 + 1/m) * size out of and into each member's NVLinks, as nvls
///   between nodes    child to parent and back: size / (2 m) for each tree and place; a NIC that serves one
///                    member carries size / m with two nodes and at most 2 size / m with more
///   steps            1 inside nodes, 2 ceil(log2 k) between them
///
/// Which is NCCL's model: latency intraLat + 2 log2(nodes) interLat, bandwidth the least of bwIntra and
/// bwInter (two nodes) or bwInter / 2 (more).
///
/// Assumes: the switches add at line rate, inside and between nodes overlap (chunks are pipelined).
/// Source: NCCL 2.20.3 src/graph/tuning.cc (NCCL_ALGO_NVLS_TREE), src/graph/connect.cc (connectNvls: a double
/// tree for each head), src/device/all_reduce.h (RunWorkElement of NVLS_TREE). There is no schedule of
/// messages.
extern const CommAlgorithmRow kNvlsTree;

}  // namespace lockstep
