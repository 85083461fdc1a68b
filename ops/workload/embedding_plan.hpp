#pragma once

/// @file
/// An explicit answer to "which table goes where": what a planner would have to find out.

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/parameters.hpp"

namespace lockstep {

/// How a table is cut, as TorchRec names it (torchrec.distributed.types.ShardingType).
enum class TableSharding : std::uint8_t {
  TableWise,     ///< whole, on one rank
  ColumnWise,    ///< equally wide columns, each on a rank
  RowWise,       ///< equally many rows on every rank (HugeCTR: or on some)
  TableRowWise,  ///< equally many rows on every rank of one node (HugeCTR: or of some)
  DataParallel,  ///< a copy on every rank
};

constexpr auto names_of(TableSharding) {
  return std::to_array<EnumName<TableSharding>>({{TableSharding::TableWise, "table_wise"},
                                                 {TableSharding::ColumnWise, "column_wise"},
                                                 {TableSharding::RowWise, "row_wise"},
                                                 {TableSharding::TableRowWise, "table_row_wise"},
                                                 {TableSharding::DataParallel, "data_parallel"}});
}

/// The place of a table's rows: TorchRec's EmbeddingComputeKernel FUSED, FUSED_UVM, FUSED_UVM_CACHING.
enum class TableKernel : std::uint8_t {
  Fused,
  Uvm,
  UvmCaching,
};
constexpr auto names_of(TableKernel) {
  return std::to_array<EnumName<TableKernel>>({{TableKernel::Fused, "fused"},
                                               {TableKernel::Uvm, "fused_uvm"},
                                               {TableKernel::UvmCaching, "fused_uvm_caching"}});
}

/// Tables that are treated alike.
struct TableShardingSpec {
  SourceLocation at;
  std::vector<std::int64_t> tables;
  TableSharding sharding = TableSharding::TableWise;
  std::vector<std::int64_t> ranks;
  std::optional<std::int64_t> node;
  std::vector<std::int64_t> nodes = {};
  TableKernel kernel = TableKernel::Fused;
  std::optional<double> cache_load_factor = {};

  /// The default of TorchRec's planner (torchrec/distributed/planner/constants.py, UVM_CACHING_RATIO).
  static constexpr double kCacheLoadFactor = 0.2;

  template <class Visitor>
  static void describe(Visitor& key, TableShardingSpec& entry) {
    key.required("tables", entry.tables,
                 "numbers of the tables, counted from 0 in the order of the model, e.g. [0, 3]");
    key.required("sharding", entry.sharding, "how each of them is cut");
    key.optional("ranks", entry.ranks, {},
                 "table_wise: the rank; column_wise: a rank for each of equally wide pieces, e.g. [0, 1, 1]; "
                 "row_wise: those that share the rows, all when left out (some: HugeCTR)");
    key.optional("node", entry.node, std::nullopt, "table_row_wise: the node, counted from 0");
    key.optional("nodes", entry.nodes, {}, "table_row_wise: several nodes, e.g. [0, 1] (HugeCTR)");
    key.optional("kernel", entry.kernel, TableKernel::Fused,
                 "where the rows are: on the GPU, in host memory, or there with a cache of rows on the GPU");
    key.optional(
        "cache_load_factor", entry.cache_load_factor, std::nullopt,
        "fused_uvm_caching: rows of the cache by rows of the table; 0.2 unless said, as in TorchRec");
  }

  /// @throws FieldError for ranks or nodes that are missing, or that the sharding does not take; a kernel
  ///   that copied tables do not have; a cache_load_factor that is none
  void check() const;
};

/// Every table once. Read from a file, or given in place.
struct EmbeddingPlan {
  static constexpr const char* kConfigKind = "plans";

  SourceLocation at;
  std::string source;
  std::vector<TableShardingSpec> tables;

  template <class Visitor>
  static void describe(Visitor& key, EmbeddingPlan& plan) {
    key.optional("source", plan.source, "", "who made the plan, and for what");
    key.required("tables", plan.tables, "every table of the model once");
  }

  /// @throws FieldError for a table that is named twice
  void check() const;
};

/// An entry as YAML in one line: `{ tables: [0, 3], sharding: table_wise, ranks: [1] }`.
[[nodiscard]] std::string entry_text(const TableShardingSpec& entry);

/// The plan as a file that reads back. @param comment a first line, of whatever text
[[nodiscard]] std::string plan_text(const EmbeddingPlan& plan, const std::string& comment);

}  // namespace lockstep
