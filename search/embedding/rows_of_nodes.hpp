#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "search/embedding/sharding_problem.hpp"

namespace lockstep {

/// Numbers of the tables by what each costs alone, the most expensive first.
[[nodiscard]] std::vector<std::int64_t> most_expensive(const ShardingProblem& problem);

/// There are several nodes, with equally many GPUs, more than one.
[[nodiscard]] bool has_even_nodes(const ShardingProblem& problem);

/// What one GPU of each node would hold of @p tables: its part of the rows, and of the look-ups. Named
/// several times: of as many equal parts first.
[[nodiscard]] sharding::Task task_of_nodes(const ShardingProblem& problem,
                                           const std::vector<std::int64_t>& tables);

/// A plan of task_of_nodes() as a file says it: an entry for each node, or set of nodes.
[[nodiscard]] std::vector<TableShardingSpec> rows_by_nodes(const sharding::Plan& plan,
                                                           const std::vector<std::int64_t>& tables);

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
