#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.hpp"
#include "ops/collectives/collective.hpp"

namespace lockstep {

/// One timed collective: the mean over nccl-tests' iterations, out of place.
struct CollectiveMeasurement {
  CollectiveKind kind = CollectiveKind::AllReduce;
  int nodes = 1;
  int gpus_per_node = 0;
  Bytes size;  ///< as ops/collectives/collective.hpp counts it, which is as nccl-tests does
  Seconds time;
  std::size_t run = 0;  ///< index into CollectiveMeasurements::runs
};

/// Measurements of one machine.
struct CollectiveMeasurements {
  std::vector<std::string> runs;  ///< what was run, one name each: file and program
  std::vector<CollectiveMeasurement> rows;
  std::size_t left_out = 0;  ///< rows of lockstep-measure in place, or of what has no model
};

/// nccl-tests' programs: `all_reduce`, `alltoall`, `sendrecv`, ... with or without `_perf`; std::nullopt for
/// what has no model here: gather, scatter, hypercube, and sendrecv, where every rank sends and receives.
[[nodiscard]] std::optional<CollectiveKind> nccl_tests_kind(std::string_view program);

/// Why no collective can have been measured on such a group, "" where one can: a single GPU exchanges
/// nothing.
[[nodiscard]] std::string wrong_with_group(int nodes, int gpus_per_node);

/// The CSV of the measurements, one a line: `collective,nodes,gpus_per_node,bytes,time_us,run`.
[[nodiscard]] std::string collective_csv(const CollectiveMeasurements& measurements);

/// Reads such tables, and collective.csv of lockstep-measure (docs/measuring.md; out of place), all together.
/// @throws InputError for a file that cannot be read or holds something else, with its line
[[nodiscard]] CollectiveMeasurements read_collective_csv(const std::vector<std::filesystem::path>& files);

}  // namespace lockstep
