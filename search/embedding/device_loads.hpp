#pragma once

#include <string>
#include <vector>

#include "search/embedding/sharding_problem.hpp"

namespace lockstep {

/// What a rank has to do for its tables in a step.
struct DeviceLoad {
  std::size_t shards = 0;
  Seconds compute;  ///< its look-up kernels and their backward passes
  Bytes sent;    ///< to other ranks: pooled rows, their gradients, and those of copies as a ring sends them
  Bytes memory;  ///< of its tables with their optimizer's state
  Bytes capacity;
};

/// By rank, with Lockstep's kernel models; of the tables that @p plan names.
/// @throws InputError for a plan that does not fit the scenario
[[nodiscard]] std::vector<DeviceLoad> device_loads(const ShardingProblem& problem, const EmbeddingPlan& plan);

/// Memory of its GPU that @p plan's tables take with their optimizer's state, by rank.
/// @throws InputError for a plan that does not fit the scenario
[[nodiscard]] std::vector<Bytes> table_memory(const ShardingProblem& problem, const EmbeddingPlan& plan);

/// A line for each of at most 32 ranks, and one of largest by mean.
[[nodiscard]] std::string load_lines(const std::vector<DeviceLoad>& loads);

/// Three rows of bars, a bar for each rank: compute, sent, memory.
[[nodiscard]] std::string load_picture(const std::vector<DeviceLoad>& loads, const std::string& title);

}  // namespace lockstep
