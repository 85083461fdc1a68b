#pragma once

#include <string>
#include <vector>

#include "search/torchrec/estimator.hpp"

namespace lockstep::torchrec {

enum class Optimizer : std::uint8_t { Sgd, RowWiseAdagrad, Adam, Other };

/// How a planner's user narrows it down.
struct Constraints {
  std::vector<Sharding> shardings{Sharding::DataParallel, Sharding::TableWise,    Sharding::ColumnWise,
                                  Sharding::RowWise,      Sharding::TableRowWise, Sharding::TableColumnWise,
                                  Sharding::Grid};
  std::vector<Kernel> kernels{Kernel::Dense, Kernel::Fused};
  std::int64_t narrowest_block = 128;  ///< columns of a column-wise shard, at least
  Optimizer optimizer = Optimizer::RowWiseAdagrad;
  bool pipelined = true;  ///< inputs of two batches at a time (TrainPipelineSparseDist)
};

/// Memory of one shard.
struct Storage {
  Bytes hbm, ddr;
};

/// A shard, and where it went.
struct Shard {
  ShardSize size;
  Perf perf;
  Storage storage;
  std::int64_t rank = -1;  ///< none yet
};

/// One way to cut one table.
struct ShardingOption {
  std::size_t table = 0;
  Sharding sharding = Sharding::TableWise;
  Kernel kernel = Kernel::Fused;
  std::vector<Shard> shards;

  [[nodiscard]] Seconds perf() const;  ///< sum over shards
  [[nodiscard]] Bytes hbm() const;     ///< likewise
};

/// All ways to cut @p table that the constraints allow, storage and perf estimated. Column blocks: the
/// smallest divisor of the columns that is a multiple of 4 and at least Constraints::narrowest_block; where
/// there is none, column-wise is left out. The dense kernel belongs to data-parallel tables, the others to
/// the rest.
///
///   storage    rows x columns x element x (1 + optimizer); SGD 0, Adam 2, row-wise Adagrad 1 / columns, else
///   1
///              + 2 inputs (1 without a pipeline) + output; UVM: weights in DDR; caching: a fifth of them in
///              HBM besides
///
/// *Source*: torchrec planner/enumerators.py and shard_estimators.py (EmbeddingStorageEstimator), as written
/// down in ../shared/reference/sharding.md, 8.
[[nodiscard]] std::vector<ShardingOption> enumerate(std::size_t number, const TableConfig& table,
                                                    const Constraints& constraints, const Topology& topology);

}  // namespace lockstep::torchrec
