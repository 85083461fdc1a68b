#pragma once

#include <filesystem>
#include <string>

#include "generate/benchmark.hpp"
#include "generate/runtime/table.hpp"

namespace lockstep::generate {

/// How the program runs, which the job does not say.
struct RunOptions {
  std::uint32_t seed = 1;
  int steps = 20;             ///< that are measured
  bool host_recorded = true;  ///< false: launches as fast as they go
};

/// Makes the operation table that the program runs.
[[nodiscard]] benchmark::Table table_of(const Benchmark& benchmark, const RunOptions& options);

/// The text of `operations.txt`: the same bytes for the same table.
[[nodiscard]] std::string to_text(const benchmark::Table& table);

/// @throws InputError with file and line
[[nodiscard]] benchmark::Table read_operation_table(const std::filesystem::path& file);

/// The table as a Job that can be simulated, without GPUs. Kernels whose time was recorded are Timed.
/// @throws std::invalid_argument for sizes and indices that there are not
[[nodiscard]] Job job_of(const benchmark::Table& table);

}  // namespace lockstep::generate
