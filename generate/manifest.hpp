#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "generate/coverage.hpp"
#include "generate/refinement.hpp"
#include "generate/runtime/table.hpp"

namespace lockstep::generate {

inline constexpr const char* kManifestOfProgram = "benchmark.json";

/// Work of a program's step, summed over its ranks.
struct Totals {
  std::uint64_t launches = 0, collectives = 0;
  double kernel_bytes = 0, kernel_flops = 0, collective_bytes = 0;
  double kernel_seconds = 0;
  double step_seconds = 0;  ///< simulated
};

/// Sums the table's work; the simulated step stays 0.
[[nodiscard]] Totals totals_of(const benchmark::Table& table);

/// Memory of the rank that needs the most for tensors with places of their own.
struct MemoryFacts {
  std::uint32_t storages = 0;
  std::int64_t planned = 0;    ///< bytes of all places
  std::int64_t allocator = 0;  ///< bytes that PyTorch's allocator reserves for the same storages
};
[[nodiscard]] MemoryFacts memory_of(const Benchmark& benchmark);

/// Entries of the manifest besides the kernels of the table.
struct ManifestFacts {
  Totals source;              ///< of what the program was made from
  double simulated_step = 0;  ///< of the program, s
  std::string target;         ///< `cuda`, `pytorch`
  MemoryFacts memory{};
  std::vector<RefinedKernel> refined{};  ///< by measurements; a benchmark that is tuned says so
};

[[nodiscard]] std::string manifest_json(const benchmark::Table& table, const Coverage& coverage,
                                        const ManifestFacts& facts);

/// Reads the coverage of a program from its manifest. @throws InputError for a file that is no manifest
[[nodiscard]] Coverage read_coverage(const std::filesystem::path& manifest);
/// Reads the source's totals from a manifest. @throws InputError for a file that is no manifest
[[nodiscard]] Totals read_source_totals(const std::filesystem::path& manifest);
/// Reads the program's simulated step, s. @throws InputError for a file that is no manifest
[[nodiscard]] double read_program_step(const std::filesystem::path& manifest);

}  // namespace lockstep::generate
