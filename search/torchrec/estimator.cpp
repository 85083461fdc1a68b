#include "search/torchrec/estimator.hpp"

#include <algorithm>

namespace lockstep::torchrec {
namespace {

// torchrec/distributed/planner/constants.py
constexpr double kIndexBytes = 8;
constexpr double kBackwardFactor = 2;
constexpr double kWeightedFactor = 3.1 / 2;     // on top of kBackwardFactor
constexpr double kDenseShare = 0.5;             // of the HBM's bandwidth
constexpr double kUvmCachingRatio = 0.2;        // of the rows
constexpr double kHostAccess = 10;              // UVM bandwidths are divided by it
constexpr double kRowWiseGradient = 2.455;      // reads of the gradients that were gathered
constexpr double kDataParallelGradient = 9.22;  // passes over the gradient
constexpr std::int64_t kNarrowest = 32;         // columns that a lookup costs at least
constexpr std::int64_t kFullBlock = 128;        // columns that fill a block
constexpr std::int64_t kHalfBlock = 64;
constexpr double kHalfBlockPenalty = 1.15;
constexpr double kQuarterBlockPenalty = 1.75;

/// Bytes that a shard's kernel reads and writes.
struct Traffic {
  Bytes input, lookup, output;
  double penalty = 1;
};

BytesPerSecond bandwidth_of(Kernel kernel, const Topology& topology) {
  switch (kernel) {
    case Kernel::Dense:
      return kDenseShare * topology.hbm;
    case Kernel::Fused:
      return topology.hbm;
    case Kernel::FusedUvm:
      return topology.hbm_to_ddr / kHostAccess;
    case Kernel::FusedUvmCaching:
      return (kUvmCachingRatio * topology.hbm + (1 - kUvmCachingRatio) * topology.hbm_to_ddr) / kHostAccess;
    case Kernel::KeyValue:
      return topology.ssd;
  }
  return topology.hbm;
}

double penalty_of(std::int64_t columns) {
  if (columns >= kFullBlock) return 1;
  return columns >= kHalfBlock ? kHalfBlockPenalty : kQuarterBlockPenalty;
}

double over_hosts(const Topology& topology) {
  return static_cast<double>(topology.ranks) / static_cast<double>(topology.local_ranks());
}

Traffic traffic_of(const TableConfig& table, const ShardSize& shard, Sharding sharding,
                   const Topology& topology) {
  const auto world = static_cast<double>(topology.ranks);
  const auto samples = static_cast<double>(topology.batch_per_rank);
  const double lookups = samples * table.pooling_factor;
  const Bytes index{kIndexBytes * (table.is_weighted ? 2 : 1)};
  const auto row = [&](std::int64_t columns) { return static_cast<double>(columns) * table.element; };
  const Bytes output = samples * world * row(shard.columns);
  switch (sharding) {
    case Sharding::TableWise:
    case Sharding::ColumnWise:
    case Sharding::TableColumnWise:
      return {lookups * world * index, lookups * world * row(std::max(shard.columns, kNarrowest)), output,
              penalty_of(shard.columns)};
    case Sharding::RowWise:
      return {lookups * index, lookups * row(shard.columns), output, 1};
    case Sharding::TableRowWise:
    case Sharding::Grid:
      return {lookups * over_hosts(topology) * index, lookups * over_hosts(topology) * row(shard.columns),
              output, 1};
    case Sharding::DataParallel:
      return {lookups * index, lookups * row(shard.columns), samples * row(shard.columns), 1};
  }
  return {};
}

BytesPerSecond link_of(const Topology& topology) {
  return topology.hosts() > 1 ? topology.between_hosts : topology.within_host;
}

Seconds data_parallel_backward(const TableConfig& table, const ShardSize& shard, BytesPerSecond bandwidth,
                               const Topology& topology) {
  const Bytes size = static_cast<double>(shard.rows) * static_cast<double>(shard.columns) * table.element;
  const auto hosts = static_cast<double>(std::min<std::int64_t>(topology.hosts(), 2));
  const double rounds = (2 * hosts - 1) / hosts * (topology.hosts() > 2 ? 2 : 1);
  return rounds * size / (static_cast<double>(topology.local_ranks()) * topology.between_hosts) +
         kDataParallelGradient * size / bandwidth;
}

}  // namespace

Perf perf_of(const TableConfig& table, const ShardSize& shard, Sharding sharding, Kernel kernel,
             const Topology& topology) {
  const Traffic traffic = traffic_of(table, shard, sharding, topology);
  const BytesPerSecond bandwidth = bandwidth_of(kernel, topology);
  Perf perf;
  perf.forward_compute = traffic.penalty * (traffic.input + traffic.lookup + traffic.output) / bandwidth;
  perf.backward_compute = kBackwardFactor * (table.is_weighted ? kWeightedFactor : 1) * perf.forward_compute;
  switch (sharding) {
    case Sharding::DataParallel:
      perf.backward_communication = data_parallel_backward(table, shard, bandwidth, topology);
      return perf;
    case Sharding::TableRowWise:
    case Sharding::Grid:
      perf.forward_communication = traffic.output / topology.within_host;
      if (topology.hosts() > 1) {
        const Bytes across = traffic.output / static_cast<double>(topology.local_ranks());
        perf.forward_communication += across / topology.between_hosts;
      }
      break;
    default:
      perf.forward_communication = traffic.output / link_of(topology);
  }
  perf.backward_communication = perf.forward_communication;
  const bool by_rows =
      sharding == Sharding::RowWise || sharding == Sharding::TableRowWise || sharding == Sharding::Grid;
  if (by_rows) {
    perf.backward_communication += kRowWiseGradient * traffic.output / bandwidth;
  }
  return perf;
}

Seconds input_distribution(const TableConfig& table, Sharding sharding, const Topology& topology) {
  if (sharding == Sharding::DataParallel) {
    return Seconds{0};
  }
  const double lookups = static_cast<double>(topology.batch_per_rank * topology.ranks) * table.pooling_factor;
  return lookups * Bytes{kIndexBytes} / link_of(topology);
}

}  // namespace lockstep::torchrec
