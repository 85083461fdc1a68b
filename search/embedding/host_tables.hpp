#pragma once

/// @file
/// Which embedding tables can be kept in host memory.

#include <cstdint>
#include <vector>

#include "search/embedding/sharding_problem.hpp"

namespace lockstep {

/// Numbers of the tables, the largest first.
[[nodiscard]] std::vector<std::int64_t> largest_first(const sharding::Task& task);

/// Memory of the hosts of all ranks together.
[[nodiscard]] Bytes host_memory(const ShardingProblem& problem);

/// Weights of @p table as a host keeps them, on all nodes together.
[[nodiscard]] Bytes size_in_host_memory(const ShardingProblem& problem, std::int64_t table);

/// Bytes that a step moves between hosts and GPUs for @p table, kept in host memory as @p how says, by byte
/// of GPU memory that this frees.
[[nodiscard]] double heat(const ShardingProblem& problem, std::int64_t table, const TableShardingSpec& how);

/// Numbers of the tables, those with the least heat() first.
[[nodiscard]] std::vector<std::int64_t> coldest_first(const ShardingProblem& problem,
                                                      const TableShardingSpec& how);

/// Those tables in @p order that hosts have room for beside each other, cut by the rows of all GPUs: one that
/// does not go in beside those before it is left out. All where the scenario asks of no memory
/// (`memory.check_capacity: false`).
[[nodiscard]] std::vector<std::int64_t> tables_for_hosts(const ShardingProblem& problem,
                                                         const std::vector<std::int64_t>& order);

/// Likewise, the largest first.
[[nodiscard]] std::vector<std::int64_t> tables_for_hosts(const ShardingProblem& problem);

}  // namespace lockstep
