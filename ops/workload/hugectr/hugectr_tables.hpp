#pragma once

#include <cstdint>
#include <vector>

#include "ops/workload/dlrm_spec.hpp"
#include "ops/workload/layers/embedding_bag.hpp"
#include "ops/workload/table_shards.hpp"

namespace lockstep {

/// The tables of HugeCTR's embedding collection: those that are cut into rows ("mp"; a whole table is one
/// piece), looked up for the global batch, and those that every rank has ("dp"), for its own samples.
struct HugeCtrTables {
  EmbeddingBagShape sharded, replicated;
  std::int64_t sharded_width = 0;  ///< of a sample's pooled rows, pieces of one table added up
  bool hierarchical = false;       ///< CommunicationStrategy::Hierarchical: a table on every GPU of its nodes

  [[nodiscard]] bool replicates() const { return !replicated.tables.front().empty(); }
};

/// @param groups as shard_tables() leaves them
/// @throws std::invalid_argument for column-wise tables, for table-row-wise tables beside others that are not
///   data-parallel, for tables that are all data-parallel
[[nodiscard]] HugeCtrTables hugectr_tables(const DlrmSpec& spec, const std::vector<ShardGroup>& groups,
                                           std::int64_t global_batch, std::size_t ranks);

}  // namespace lockstep
