#pragma once

#include "ops/collectives/comm_algorithm.hpp"

namespace lockstep {

/// Parallel aggregated trees: all-gather and reduce-scatter in ceil(log2 n) steps. Each member's piece goes
/// down a binomial tree of its own, all trees at once, the farthest distance first: at distance D = 2^i a
/// member at offset o from the piece's owner (a multiple of 2 D) sends it to offset o + D < n. A
/// reduce-scatter runs the same trees backwards. Few pieces travel far, many travel near.
///
///   all-gather       ceil(log2 n) steps; (n-1)/n of the buffer out of and into each member, as a ring
///   reduce-scatter   the same, reversed
///   steps            besides, each of the n pieces is handled inside the GPU: n steps inside nodes
///
/// Chunks: the owner. NCCL cuts steps so that their pieces fit its buffers, which changes latencies of large
/// messages only; there all edges advance together here.
///
/// Source: S. Jeaugey, "PAT: a new algorithm for all-gather and reduce-scatter operations at scale", arXiv
/// 2506.20252 (2025); NCCL 2.23 src/graph/tuning.cc: one GPU a node (ncclPatEnable), latency
/// 8 us + log2(nodes) * 14 us / 3.5 + ranks * 2.8 us, 0.75 of the bandwidth (configs/profiles).
extern const CommAlgorithmRow kPat;

}  // namespace lockstep
