#pragma once

#include <vector>

namespace lockstep {

/// Links between the GPUs of a node: links[i][j] of equal bandwidth from i to j, symmetric.
using LinkCounts = std::vector<std::vector<int>>;

/// Rings through all GPUs that share no link, as many as a depth-first search finds within a million steps
/// (on the hybrid cube mesh of a DGX-1V it finds the optimum in a few hundred): each Hamiltonian cycle of the
/// undirected graph gives a ring in both directions; two GPUs have one ring a link. Where no cycle exists,
/// GPUs without a link may be neighbours through a third one that has links to both (comm_route), whose links
/// they take; empty when that is not enough.
///
///   DGX-1V: 8 GPUs 6 rings, 4 (0-3) 4 rings, 3 (0-2) 2 rings; 5 (0-4) 2 rings, GPU 4 to GPU 1 through GPU 0
///
/// Orders begin at GPU 0. Deterministic.
/// Source: NCCL src/graph/search.cc, ncclTopoCompute: paths over NVLink alone first (PATH_NVL), then those
/// through a GPU (PATH_NVB), before PCIe.
[[nodiscard]] std::vector<std::vector<int>> find_rings(const LinkCounts& links);

}  // namespace lockstep
