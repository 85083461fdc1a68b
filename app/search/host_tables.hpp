#pragma once

/// @file
/// Which embedding tables can be kept in host memory.

#include <cstdint>
#include <vector>

#include "app/search/sharding_problem.hpp"

namespace lockstep {

/// Numbers of the tables, the largest first.
[[nodiscard]] std::vector<std::int64_t> largest_first(const sharding::Task& task);

/// Memory of the hosts of all ranks together.
[[nodiscard]] Bytes host_memory(const ShardingProblem& problem);

/// Weights of @p table as a host keeps them, on all nodes together.
[[nodiscard]] Bytes size_in_host_memory(const ShardingProblem& problem, std::int64_t table);

/// Numbers of the tables that hosts have room for beside each other, cut by the rows of all GPUs, the largest
/// first: one that does not go in beside those before it is left out. All where the scenario asks of no
/// memory (`memory.check_capacity: false`).
[[nodiscard]] std::vector<std::int64_t> tables_for_hosts(const ShardingProblem& problem);

}  // namespace lockstep
