#include "ops/workload/hugectr/hugectr_tables.hpp"

#include <algorithm>
#include <stdexcept>

namespace lockstep {
namespace {

void check_shardings(const std::vector<ShardGroup>& groups) {
  const auto has = [&](TableSharding sharding) {
    return std::ranges::any_of(groups, [&](const ShardGroup& group) { return group.sharding == sharding; });
  };
  if (has(TableSharding::ColumnWise)) {
    throw std::invalid_argument{
        "implementation: hugectr cuts tables by rows: column_wise is TorchRec's (implementation: pytorch)"};
  }
  if (has(TableSharding::TableRowWise) && (has(TableSharding::TableWise) || has(TableSharding::RowWise))) {
    throw std::invalid_argument{
        "HugeCTR's hierarchical exchange is for all tables that are not data_parallel: make every one of "
        "them table_row_wise, or none"};
  }
}

}  // namespace

HugeCtrTables hugectr_tables(const DlrmSpec& spec, const std::vector<ShardGroup>& groups,
                             std::int64_t global_batch, std::size_t ranks) {
  check_shardings(groups);
  HugeCtrTables tables;
  const Optimizer optimizer = table_optimizer(spec.optimizer);
  for (EmbeddingBagShape* const bags : {&tables.sharded, &tables.replicated}) {
    bags->tables.resize(ranks);
    bags->optimizer = optimizer;
  }
  tables.sharded.batch = global_batch;
  tables.replicated.batch = global_batch / static_cast<std::int64_t>(ranks);
  for (const ShardGroup& group : groups) {
    const bool replicated = group.sharding == TableSharding::DataParallel;
    tables.hierarchical = tables.hierarchical || group.sharding == TableSharding::TableRowWise;
    tables.sharded_width += replicated ? 0 : group.width;
    EmbeddingBagShape& bags = replicated ? tables.replicated : tables.sharded;
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      bags.tables[rank].insert(bags.tables[rank].end(), group.shards[rank].begin(), group.shards[rank].end());
    }
  }
  if (tables.sharded_width == 0) {
    throw std::invalid_argument{
        "implementation: hugectr: the plan makes every table data_parallel; at least one is on some GPUs "
        "alone"};
  }
  return tables;
}

}  // namespace lockstep
