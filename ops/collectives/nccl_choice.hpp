#pragma once

#include "ops/collectives/comm_algorithm.hpp"

namespace lockstep {

/// The facts that NCCL knows of a group between nodes when it chooses.
struct NcclView {
  CollectiveKind kind = CollectiveKind::AllReduce;
  Bytes size;
  int members = 2;
  int nodes = 2;
  bool has_nvlink = true;    ///< inside the nodes
  bool has_amd_cpu = false;  ///< in a node
  BytesPerSecond ring_rate;  ///< bus bandwidth that the links allow a ring
  int nics = 1;              ///< by which a node is left, one channel each
  BytesPerSecond nvlink;     ///< of one GPU, one way
};

/// The time that NCCL itself expects of a ring, tree, nvls_tree or pat between nodes, by its table of a
/// typical machine. It decides what is taken, not how long that takes: NCCL gives a tree the bandwidth of a
/// ring even on two nodes, where it sends half.
///
/// Source: NCCL 2.28 src/graph/tuning.cc, ncclTopoTuneModel and ncclTopoGetAlgoTime.
[[nodiscard]] Seconds time_by_nccl(const NcclView& view, CommAlgorithm algorithm, CommProtocol protocol);

/// Bus bandwidth of LL between nodes: a processor reads its flags from host memory (llMaxBws; AMD, others).
[[nodiscard]] BytesPerSecond fastest_ll(int nodes, bool has_amd_cpu);

}  // namespace lockstep
