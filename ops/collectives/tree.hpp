#pragma once

#include "ops/collectives/comm_algorithm.hpp"

namespace lockstep {

/// Parent of each of @p n vertices in a balanced binary tree rooted in vertex 0 (parent -1), in which odd
/// vertices are leaves: an in-order tree over 1 .. n-1 below the root. Height <= ceil(log2 n).
[[nodiscard]] std::vector<int> binary_tree(int n);

/// The second tree of the pair: a vertex that has children in the first is a leaf here, but for at most one.
[[nodiscard]] std::vector<int> twin_tree(int n);

/// All-reduce over two binary trees, half the buffer each: sums travel to the root and back down. Trees join
/// the first members of the nodes; inside a node the members form a chain (the channel's ring order), as
/// NCCL's trees do.
///
///   steps  2 (members of a node - 1) inside nodes, 2 ceil(log2 nodes) between them
///   edges  child to parent and parent to child: size / (2 channels) for each tree and channel
///
/// Chunks: channel * 2 + tree.
///
/// Source: P. Sanders, J. Speck, J. L. Traff, "Two-tree algorithms for full bandwidth broadcast, reduction
/// and scan", Parallel Computing 35(12), 2009; S. Jeaugey, "Massively scale your deep learning training with
/// NCCL 2.4" (NVIDIA blog, 2019).
extern const CommAlgorithmRow kTree;

}  // namespace lockstep
