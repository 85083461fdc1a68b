#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "search/torchrec/partitioner.hpp"

namespace lockstep::torchrec {

/// Memory that is kept for the rest of the model: torchrec's HeuristicalStorageReservation.
struct Reservation {
  double share = 0.15;           ///< of the HBM
  Bytes dense_parameters;        ///< of the dense part; six times this is kept
  double per_batch_inputs = 20;  ///< times the bytes of a rank's indices

  /// Memory of a rank that is left for @p tables.
  [[nodiscard]] Storage left(const std::vector<TableConfig>& tables, const Topology& topology) const;
};

enum class Proposer : std::uint8_t { Greedy, Uniform, GridSearch, DynamicProgramming };
constexpr auto names_of(Proposer) {
  return std::to_array<EnumName<Proposer>>({{Proposer::Greedy, "greedy"},
                                            {Proposer::Uniform, "uniform"},
                                            {Proposer::GridSearch, "grid_search"},
                                            {Proposer::DynamicProgramming, "dynamic_programming"}});
}

/// The options of each table, one vector a table.
using SearchSpace = std::vector<std::vector<ShardingOption>>;

/// Combinations of one option a table, in the order in which the planner tries them:
///
///   greedy               every table's options by perf; all best ones, then, again and again, the next
///   option
///                        of the table that takes most HBM and has another one
///   uniform              the best option of the same sharding and kernel for every table, where all have it
///   grid search          all combinations, where there are at most 10,000
///   dynamic programming  for each of 100 limits on the HBM of all tables, the combination with the least sum
///                        of perfs
///
/// *Source*: torchrec planner/proposers.py, as written down in ../shared/reference/sharding.md, 8. No
/// feedback from partitioning is used.
[[nodiscard]] std::vector<std::vector<std::size_t>> proposals(Proposer proposer, const SearchSpace& space,
                                                              const Storage& capacity,
                                                              const Topology& topology);

/// EmbeddingShardingPlanner with all proposers: of all proposals that can be partitioned the one with the
/// least rating.
/// @param capacity of each rank, what is reserved taken off
/// @return nothing where no proposal fits
[[nodiscard]] std::optional<Partition> plan(const std::vector<TableConfig>& tables,
                                            const Constraints& constraints, const Storage& capacity,
                                            const Topology& topology);

}  // namespace lockstep::torchrec
