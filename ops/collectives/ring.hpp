#pragma once

#include "ops/collectives/comm_algorithm.hpp"

namespace lockstep {

/// Neighbours on a ring. All-reduce is a reduce-scatter of n-1 steps and an all-gather of n-1 steps; at every
/// step each member passes one of n chunks to its right-hand neighbour. Broadcast and reduce are pipelines
/// from or to the root: every edge but the one that closes the ring carries the whole buffer.
///
///   all-reduce                  2 (n-1) steps, 2 (n-1)/n * size on each edge
///   reduce-scatter, all-gather    (n-1) steps,   (n-1)/n * size
///   broadcast, reduce             (n-1) steps,           1 * size
///
/// Several channels divide the buffer evenly. Chunks: owner * channels + channel, where the owner is the
/// member that ends with (or begins with) the piece; broadcast and reduce: channel.
///
/// Source: P. Patarasuk, X. Yuan, "Bandwidth optimal all-reduce algorithms for clusters of workstations",
/// JPDC 69(2), 2009, sec. 4; NCCL's ring kernels.
extern const CommAlgorithmRow kRing;

}  // namespace lockstep
