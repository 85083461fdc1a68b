#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/error.hpp"
#include "base/units.hpp"
#include "ops/kernel.hpp"
#include "ops/workload/embedding_plan.hpp"
#include "ops/workload/table_storage.hpp"

namespace lockstep {

/// Ranks and the nodes they are on.
class RankNodes {
 public:
  /// @param node_of_gpu by rank: any numbers; empty: @p ranks ranks in one node
  RankNodes(std::size_t ranks, std::span<const int> node_of_gpu);

  [[nodiscard]] std::size_t ranks() const { return node_of_.size(); }
  [[nodiscard]] std::size_t node_of(std::size_t rank) const { return node_of_[rank]; }  ///< counted from 0
  /// Ranks by node, ascending; nodes in the order of their first ranks.
  [[nodiscard]] const std::vector<std::vector<std::uint32_t>>& nodes() const { return nodes_; }
  /// Every node has equally many ranks.
  [[nodiscard]] bool even() const;
  /// Ranks with the same place in their nodes, by place. @pre even()
  [[nodiscard]] std::vector<std::vector<std::uint32_t>> across_nodes() const;

 private:
  std::vector<std::size_t> node_of_;
  std::vector<std::vector<std::uint32_t>> nodes_;
};

/// The tables of one sharding: they are looked up together and exchanged together.
struct ShardGroup {
  TableSharding sharding = TableSharding::TableWise;
  std::vector<std::vector<EmbeddingTable>> shards;  ///< by rank: what it holds of the group's tables
  std::int64_t width = 0;                           ///< of the pooled rows of a sample, all tables
};

/// Memory of tables, by what is kept of them.
struct ShardStorage {
  TableStorage sharded;     ///< weight and optimizer state
  TableStorage replicated;  ///< and the gradient, which data-parallel tables have whole
};

/// A plan puts more tables on a rank than its GPU has memory for.
class TablesDoNotFit : public InputError {
 public:
  using InputError::InputError;
};

/// Shards that every rank holds under a plan, in the order table-, column-, row-, table-row-wise,
/// data-parallel; shardings without tables are left out.
///
///   column-wise      shard: rows x dimension / pieces, all lookups
///   row-wise         shard: ceil(rows / ranks) rows (the last ones fewer),
///                    its share of uniform lookups;
///                    ranks are all, or those that the entry names
///   table-row-wise   the same within the node, or the nodes that it names
///
/// *Source*: torchrec/distributed/sharding_plan.py (column and row blocks), {tw,cw,rw,twrw,dp}_sharding.py.
/// @param capacity by rank: memory for tables
/// @throws InputError at the entries of the plan: unknown or missing tables,
///   ranks or nodes that do not exist,
///   columns that do not divide, nodes of unequal size for table-row-wise tables, memory exceeded
[[nodiscard]] std::vector<ShardGroup> shard_tables(std::span<const EmbeddingTable> tables,
                                                   const EmbeddingPlan& plan, const RankNodes& ranks,
                                                   std::span<const Bytes> capacity,
                                                   const ShardStorage& storage);

/// @p table where @p entry's kernel keeps it.
[[nodiscard]] EmbeddingTable located(EmbeddingTable table, const TableShardingSpec& entry);

/// Memory of its GPU that @p table takes: all of it; or, of a table in host memory, the cache of its rows and
/// what the optimizer keeps for each row.
[[nodiscard]] Bytes on_gpu(const EmbeddingTable& table, const TableStorage& storage);

}  // namespace lockstep
