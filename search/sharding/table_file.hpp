#pragma once

#include <filesystem>
#include <vector>

#include "search/sharding/task.hpp"

namespace lockstep::sharding {

/// Tables as the sharding papers describe them, of no dimension yet (0).
struct TableSet {
  std::int64_t batch = 0;  ///< samples that the reuse was counted in
  std::vector<Table> tables;
};

/// Reads `{"batch": 65536, "tables": [{"row": ..., "pooling_factor": ..., "bin_0": ..., ...}]}`, JSON or
/// YAML: the table configurations of AutoShard, DreamShard and NeuroShard with an optional index model beside
/// (`log2_rate_median`, `log2_rate_sigma`, `support_rows`, `unique_rows`).
/// @throws InputError at what is missing, unknown or cannot be
[[nodiscard]] TableSet read_table_set(const std::filesystem::path& path);

}  // namespace lockstep::sharding
