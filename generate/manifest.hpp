#pragma once

#include <filesystem>
#include <string>

#include "generate/coverage.hpp"
#include "generate/runtime/table.hpp"

namespace lockstep::generate {

inline constexpr const char* kManifestOfProgram = "benchmark.json";

/// What a program's step does, summed over its ranks.
struct Totals {
  std::uint64_t launches = 0, collectives = 0;
  double kernel_bytes = 0, kernel_flops = 0, collective_bytes = 0;
  double kernel_seconds = 0;
  double step_seconds = 0;  ///< simulated
};

/// Without the simulated step.
[[nodiscard]] Totals totals_of(const benchmark::Table& table);

/// What the manifest says besides the kernels of the table.
struct ManifestFacts {
  Totals source;              ///< of what the program was made from
  double simulated_step = 0;  ///< of the program, s
  std::string target;         ///< `cuda`, `pytorch`
};

[[nodiscard]] std::string manifest_json(const benchmark::Table& table, const Coverage& coverage,
                                        const ManifestFacts& facts);

/// What the manifest says of the source. @throws InputError for a file that is none
[[nodiscard]] Totals read_source_totals(const std::filesystem::path& manifest);
/// The simulated step of the program, s. @throws InputError for a file that is none
[[nodiscard]] double read_program_step(const std::filesystem::path& manifest);

}  // namespace lockstep::generate
