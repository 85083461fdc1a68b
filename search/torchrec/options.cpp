#include "search/torchrec/options.hpp"

#include <algorithm>

namespace lockstep::torchrec {
namespace {

constexpr double kIndexBytes = 8;
constexpr double kCacheLoad = 0.2;  // constants.py, UVM_CACHING_RATIO
constexpr std::int64_t kColumnStep = 4;

std::int64_t column_block(std::int64_t columns, std::int64_t narrowest) {
  for (std::int64_t block = std::max(narrowest, kColumnStep); block < columns; ++block) {
    if (columns % block == 0 && block % kColumnStep == 0) {
      return block;
    }
  }
  return columns;
}

std::vector<ShardSize> by_rows(const TableConfig& table, std::int64_t pieces, std::int64_t columns) {
  const std::int64_t block = (table.rows + pieces - 1) / pieces;
  std::vector<ShardSize> sizes;
  for (std::int64_t i = 0; i < pieces; ++i) {
    sizes.push_back({std::clamp<std::int64_t>(table.rows - i * block, 0, block), columns});
  }
  return sizes;
}

std::vector<ShardSize> by_columns(const TableConfig& table, std::int64_t block) {
  const auto pieces = static_cast<std::size_t>(table.columns / block);
  return std::vector<ShardSize>(pieces, ShardSize{table.rows, block});
}

/// Empty: the table cannot be cut so.
std::vector<ShardSize> sizes_of(const TableConfig& table, Sharding sharding, const Constraints& constraints,
                                const Topology& topology) {
  const std::int64_t block = column_block(table.columns, constraints.narrowest_block);
  switch (sharding) {
    case Sharding::DataParallel:
      return std::vector<ShardSize>(static_cast<std::size_t>(topology.ranks),
                                    ShardSize{table.rows, table.columns});
    case Sharding::TableWise:
      return {{table.rows, table.columns}};
    case Sharding::ColumnWise:
    case Sharding::TableColumnWise:
      return block < table.columns ? by_columns(table, block) : std::vector<ShardSize>{};
    case Sharding::RowWise:
      return by_rows(table, topology.ranks, table.columns);
    case Sharding::TableRowWise:
      return by_rows(table, topology.local_ranks(), table.columns);
    case Sharding::Grid: {
      std::vector<ShardSize> sizes;
      const bool cuts = block < table.columns;
      for (std::int64_t column = 0; cuts && column < table.columns; column += block) {
        const auto rows = by_rows(table, topology.local_ranks(), block);
        sizes.insert(sizes.end(), rows.begin(), rows.end());
      }
      return sizes;
    }
  }
  return {};
}

double optimizer_share(Optimizer optimizer, std::int64_t columns) {
  switch (optimizer) {
    case Optimizer::Sgd:
      return 0;
    case Optimizer::RowWiseAdagrad:
      return 1 / static_cast<double>(columns);
    case Optimizer::Adam:
      return 2;
    case Optimizer::Other:
      return 1;
  }
  return 1;
}

/// Inputs and output of a shard for a batch.
Bytes inputs_and_output(const TableConfig& table, const ShardSize& shard, Sharding sharding,
                        const Constraints& constraints, const Topology& topology) {
  const auto samples = static_cast<double>(topology.batch_per_rank);
  const auto world = static_cast<double>(topology.ranks);
  const double hosts = world / static_cast<double>(topology.local_ranks());
  const bool by_rows_of_node = sharding == Sharding::TableRowWise || sharding == Sharding::Grid;
  const bool local = sharding == Sharding::DataParallel || sharding == Sharding::RowWise;
  const double from = local ? 1 : by_rows_of_node ? hosts : world;  // ranks whose lookups come here
  const Bytes input = samples * table.pooling_factor * from * Bytes{kIndexBytes};
  const double to = sharding == Sharding::DataParallel ? 1 : world;
  const Bytes output = samples * to * static_cast<double>(shard.columns) * table.element;
  return (constraints.pipelined ? 2.0 : 1.0) * input + output;
}

Storage storage_of(const TableConfig& table, const ShardSize& shard, Sharding sharding, Kernel kernel,
                   const Constraints& constraints, const Topology& topology) {
  const Bytes weights = static_cast<double>(shard.rows * shard.columns) * table.element;
  const Bytes all = (1 + optimizer_share(constraints.optimizer, table.columns)) * weights;
  const Bytes batch = inputs_and_output(table, shard, sharding, constraints, topology);
  switch (kernel) {
    case Kernel::FusedUvm:
      return {batch, all};
    case Kernel::FusedUvmCaching:
      return {kCacheLoad * all + batch, all};
    case Kernel::KeyValue:
      return {batch, Bytes{0}};
    case Kernel::Dense:
    case Kernel::Fused:
      break;
  }
  return {all + batch, Bytes{0}};
}

bool belong_together(Sharding sharding, Kernel kernel) {
  return (sharding == Sharding::DataParallel) == (kernel == Kernel::Dense);
}

}  // namespace

Seconds ShardingOption::perf() const {
  Seconds sum;
  for (const Shard& shard : shards) {
    sum += shard.perf.total();
  }
  return sum;
}

Bytes ShardingOption::hbm() const {
  Bytes sum;
  for (const Shard& shard : shards) {
    sum += shard.storage.hbm;
  }
  return sum;
}

std::vector<ShardingOption> enumerate(std::size_t number, const TableConfig& table,
                                      const Constraints& constraints, const Topology& topology) {
  std::vector<ShardingOption> options;
  for (const Sharding sharding : constraints.shardings) {
    const std::vector<ShardSize> sizes = sizes_of(table, sharding, constraints, topology);
    for (const Kernel kernel : constraints.kernels) {
      if (sizes.empty() || !belong_together(sharding, kernel)) {
        continue;
      }
      ShardingOption& option = options.emplace_back(ShardingOption{number, sharding, kernel, {}});
      for (const ShardSize& size : sizes) {
        option.shards.push_back({size, perf_of(table, size, sharding, kernel, topology),
                                 storage_of(table, size, sharding, kernel, constraints, topology)});
      }
    }
  }
  return options;
}

}  // namespace lockstep::torchrec
