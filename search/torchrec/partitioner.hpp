#pragma once

#include <optional>
#include <vector>

#include "search/torchrec/options.hpp"

namespace lockstep::torchrec {

/// Time and memory of the shards that partitioning gives a rank.
struct RankLoad {
  Seconds perf;
  Bytes hbm, ddr;
};

/// Options, one a table, their shards placed.
struct Partition {
  std::vector<ShardingOption> options;
  std::vector<RankLoad> ranks;

  /// The number that the planner compares plans by: the longest time of a rank.
  [[nodiscard]] Seconds rating() const;
};

/// TorchRec's GreedyPerfPartitioner: data-parallel and row-wise shards go to all ranks first; then options by
/// the memory of their shards, the largest first; table-row-wise and grid shards to the host with the least
/// perf that has room, every other shard to such a rank.
/// @param capacity of each rank
/// @return nothing where a shard has no place
/// *Source*: torchrec planner/partitioners.py, as written down in ../shared/reference/sharding.md, 8.
[[nodiscard]] std::optional<Partition> partition_by_perf(std::vector<ShardingOption> options,
                                                         const Storage& capacity, const Topology& topology);

/// MemoryBalancedPartitioner: partition_by_perf() under ever tighter limits on a rank's HBM, found by halving
/// the interval at most 10 times or until it is 2 % of the capacity, as long as the rating is no worse.
[[nodiscard]] std::optional<Partition> partition_by_memory(const std::vector<ShardingOption>& options,
                                                           const Storage& capacity, const Topology& topology);

}  // namespace lockstep::torchrec
