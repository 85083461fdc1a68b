#pragma once

/// @file
/// What TorchRec's planner thinks a shard costs: bytes over constant bandwidths, compute and communication
/// added.

#include <array>
#include <cstdint>

#include "base/parameters.hpp"
#include "base/units.hpp"

namespace lockstep::torchrec {

/// torchrec.distributed.types.ShardingType.
enum class Sharding : std::uint8_t {
  DataParallel,
  TableWise,
  ColumnWise,
  TableColumnWise,
  RowWise,
  TableRowWise,
  Grid,
};
constexpr auto names_of(Sharding) {
  return std::to_array<EnumName<Sharding>>({{Sharding::DataParallel, "data_parallel"},
                                            {Sharding::TableWise, "table_wise"},
                                            {Sharding::ColumnWise, "column_wise"},
                                            {Sharding::TableColumnWise, "table_column_wise"},
                                            {Sharding::RowWise, "row_wise"},
                                            {Sharding::TableRowWise, "table_row_wise"},
                                            {Sharding::Grid, "grid_shard"}});
}

/// torchrec.distributed.embedding_types.EmbeddingComputeKernel.
enum class Kernel : std::uint8_t { Dense, Fused, FusedUvm, FusedUvmCaching, KeyValue };
constexpr auto names_of(Kernel) {
  return std::to_array<EnumName<Kernel>>({{Kernel::Dense, "dense"},
                                          {Kernel::Fused, "fused"},
                                          {Kernel::FusedUvm, "fused_uvm"},
                                          {Kernel::FusedUvmCaching, "fused_uvm_caching"},
                                          {Kernel::KeyValue, "key_value"}});
}

/// Machine and batch as the planner's Topology has them. Defaults: torchrec/distributed/planner/constants.py.
struct Topology {
  static constexpr double kGiB = 1024.0 * 1024 * 1024;

  std::int64_t ranks = 2;
  std::int64_t ranks_per_host = 8;
  std::int64_t batch_per_rank = 512;
  BytesPerSecond hbm{897 * kGiB};
  BytesPerSecond ddr{51 * kGiB};
  BytesPerSecond hbm_to_ddr{32 * kGiB};
  BytesPerSecond ssd{0.1 * kGiB};
  BytesPerSecond within_host{600 * kGiB};
  BytesPerSecond between_hosts{12.5 * kGiB};
  Bytes hbm_capacity{32 * kGiB};
  Bytes ddr_capacity{128 * kGiB};

  [[nodiscard]] std::int64_t hosts() const { return (ranks + ranks_per_host - 1) / ranks_per_host; }
  /// Ranks of a host that has all of its own.
  [[nodiscard]] std::int64_t local_ranks() const { return ranks < ranks_per_host ? ranks : ranks_per_host; }
};

/// A table as its planner knows it.
struct TableConfig {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  double pooling_factor = 1;
  bool is_weighted = false;  ///< a weight with each index
  Bytes element{4};
};

/// Part of a table on one rank.
struct ShardSize {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
};

struct Perf {
  Seconds forward_compute, forward_communication, backward_compute, backward_communication;

  [[nodiscard]] Seconds total() const {
    return forward_compute + forward_communication + backward_compute + backward_communication;
  }
};

/// The time of a shard by TorchRec's formulas. B samples a rank, W ranks, g of them on a host, L lookups, d
/// columns of the shard, elements of e bytes, w = 2 with weights else 1, and the bandwidth of the kernel:
///
///   sharding        input            lookup                output        penalty
///   table-, column  B L W 8 w        B L W max(d, 32) e     B W d e       1.75 d < 64, 1.15 d < 128, else 1
///   row             B L 8 w          B L d e                B W d e       1
///   table-row, grid B L (W/g) 8 w    B L (W/g) d e          B W d e       1
///   data            B L 8 w          B L d e                B d e         1
///
///   forward compute  (input + lookup + output) penalty / bandwidth;  backward twice that, weighted 3.1
///   times communication    table, column: output / link both ways;  row: likewise, backward + 2.455 output /
///                    bandwidth;  table-row, grid: output / link within the host, between several hosts
///                    B (W/g) d e / their link besides, backward + 2.455 output / bandwidth;  data: backward
///                    alone, size (2n-1)/n / (link between hosts g), twice beyond 2 hosts, n = min(hosts, 2),
///                    + 9.22 size / bandwidth
///
/// *Source*: meta-pytorch/torchrec 376cac6, planner/shard_estimators.py and constants.py, as written down in
/// ../shared/reference/sharding.md, 8. *Checked*: the 58 expected values of its test_shard_estimators.py.
[[nodiscard]] Perf perf_of(const TableConfig& table, const ShardSize& shard, Sharding sharding, Kernel kernel,
                           const Topology& topology);

/// Indices of the shard's inputs on the link. Tracked, not part of the total.
[[nodiscard]] Seconds input_distribution(const TableConfig& table, Sharding sharding,
                                         const Topology& topology);

}  // namespace lockstep::torchrec
