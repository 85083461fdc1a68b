#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "app/search/sharding_problem.hpp"

namespace lockstep {

/// Table-row-wise: the @p count tables that cost most, each cut by rows among the GPUs of one node. A node is
/// a device to NeuroShard's greedy grid search, with the part of each table that one of its GPUs would hold
/// and the exchange among GPUs at the same place of their nodes.
/// @return an entry for each node; nothing with a single node, nodes of unequal size, or where it does not
/// fit
[[nodiscard]] std::optional<std::vector<TableShardingSpec>> rows_of_nodes(const ShardingProblem& problem,
                                                                          std::size_t count);

}  // namespace lockstep
