#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "app/search/sharding_problem.hpp"

namespace lockstep {

/// Numbers of the tables by what each costs alone, the most expensive first.
[[nodiscard]] std::vector<std::int64_t> most_expensive(const ShardingProblem& problem);

/// Table-row-wise: each table cut by rows among the GPUs of one node. A node is a device to NeuroShard's
/// greedy grid search, with the part of each table that one of its GPUs would hold and the exchange among
/// GPUs at the same place of their nodes.
/// @param tables their numbers; one that is named several times is cut into as many equal parts first, of
///   which two on one node become one (HugeCTR)
/// @return an entry for each node, or set of nodes; nothing with a single node, nodes of unequal size, or
///   where it does not fit
[[nodiscard]] std::optional<std::vector<TableShardingSpec>> rows_of_nodes(
    const ShardingProblem& problem, const std::vector<std::int64_t>& tables);

}  // namespace lockstep
