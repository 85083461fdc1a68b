#pragma once

/// @file
/// DLRMs whose tables are drawn from a set.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string>
#include <vector>

#include "base/random.hpp"
#include "search/sharding/table_file.hpp"

namespace lockstep {

struct DrawnModels {
  std::string cluster;
  int gpus = 4;
  std::size_t tables = 20;
  std::int64_t widest = 128;
  std::size_t tasks = 10;
  bool heavy = false;      ///< tables of more than 20 lookups a sample (Lin et al.)
  bool selection = false;  ///< dimensions and numbers of tables as Lin et al. draw them
  std::int64_t batch = 65536;
  bool indices_ahead = false;  ///< they come while the step before is computed (TrainPipelineSparseDist)
};

/// A DLRM with tables of the set, each of a width of its own; empty tables are left out.
inline std::string scenario(const sharding::TableSet& set, const DrawnModels& drawing, std::uint64_t task) {
  const Random random = Random{1, "search comparison"}.of(task);
  int halvings = 0;
  while (drawing.widest >> halvings >= (drawing.selection ? 32 : 4)) {
    ++halvings;
  }
  // Lin et al.: 13 tables a GPU, 0.7 to 1.3 times as many.
  const double share = drawing.selection ? 0.7 + 0.6 * random.from(1'000'000).uniform(0) : 1;
  const auto count = static_cast<std::size_t>(share * static_cast<double>(drawing.tables));
  std::vector<std::string> tables;
  for (std::uint64_t draw = 0; tables.size() < count; ++draw) {
    const auto number =
        static_cast<std::size_t>(random.uniform(2 * draw) * static_cast<double>(set.tables.size()));
    const EmbeddingTable& table = set.tables[number].shape;
    if (table.pooling_factor <= (drawing.heavy ? 20 : 0)) {
      continue;
    }
    const auto width = drawing.widest >> static_cast<int>(random.uniform(2 * draw + 1) * halvings);
    tables.push_back(
        fmt::format("{{rows: [{}], dimension: {}, pooling_factor: {}, index_skew: {}, active_rows: {}}}",
                    table.rows, width, table.pooling_factor, table.index_skew, table.active_rows));
  }
  return fmt::format(
      "name: drawn\ncluster: {}\nworkload:\n  global_batch: {}\n  model:\n    name: drawn\n    source: "
      "drawn\n    dlrm:\n      "
      "bottom_mlp: [13, 512, "
      "256, 64]\n      top_mlp: [512, 256, 1]\n      interaction: cat\n      tables: [{}]\nparallelism: "
      "{{ranks: {}, embedding: {{pipeline: {}}}}}\n",
      drawing.cluster, drawing.batch, fmt::join(tables, ", "), drawing.gpus,
      drawing.indices_ahead ? "sparse_dist" : "none");
}

}  // namespace lockstep
