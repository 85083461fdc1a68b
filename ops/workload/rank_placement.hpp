#pragma once

#include <vector>

#include "ops/workload/parallelism_spec.hpp"
#include "topology/fabric.hpp"

namespace lockstep {

/// GPUs that the ranks of a job are on.
struct RankPlacement {
  int ranks = 1;
  int per_node = 0;      ///< of a node's GPUs, the first ones
  int gpus_of_node = 0;  ///< 0: nodes have different numbers of GPUs

  /// Whether nodes have GPUs of which the job takes none, though it goes on to the next one.
  [[nodiscard]] bool leaves_gpus() const { return per_node < gpus_of_node && ranks > per_node; }
};

/// GPUs of the nodes of a machine.
struct NodeSizes {
  int nodes = 0;
  int least = 0, most = 0;  ///< of a node
  int all = 0;
};
[[nodiscard]] NodeSizes node_sizes(const Fabric& fabric);

/// Ranks fill one node after the other. `ranks_per_node` says how many go on each. Left out, all of its GPUs
/// are taken, unless groups would straddle nodes then that could stay inside one: with B the GPUs from the
/// first to the last of a tensor, context or expert group (`rank_order`), G those of a node,
///
///   per_node = G - G mod lcm(B, ...)    of the B <= G, as long as the lcm is <= G and the ranks have room
///
/// Where they have none, expert groups may straddle, then context groups. Nodes with different numbers of
/// GPUs are filled.
/// @throws std::invalid_argument for more ranks per node than a node has GPUs, or no room for all ranks
[[nodiscard]] RankPlacement place_ranks(const ParallelismSpec& parallelism, const NodeSizes& sizes);

/// All GPUs of @p fabric, those first that @p placement puts ranks on, in rank order; behind them the others.
[[nodiscard]] std::vector<VertexId> gpus_by_rank(const RankPlacement& placement, const Fabric& fabric);

/// GPUs from the first to the last of a group, where it is aligned: of tensor, context and expert groups.
/// 1: there are none.
struct GroupBlocks {
  int tensor = 1, context = 1, expert = 1;
};
/// @param ranks of the job
[[nodiscard]] GroupBlocks group_blocks(const TransformerPlanSpec& plan, int ranks);

}  // namespace lockstep
