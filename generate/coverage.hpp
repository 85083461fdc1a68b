#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "generate/benchmark.hpp"

namespace lockstep::generate {

/// Launches and kernel time of one step on all ranks.
struct CoverageShare {
  std::uint64_t launches = 0;
  double seconds = 0;
};

/// Kernels that are not reproduced by what they do.
struct UncoveredKernels {
  std::string name, family;
  CoverageShare share;
};

/// Kernels of a benchmark counted by the back-end that reproduces them, communication excluded.
struct Coverage {
  std::array<CoverageShare, kBackends.size()> by_backend{};  ///< by Backend
  CoverageShare all;
  std::vector<UncoveredKernels> uncovered;  ///< busy and skipped ones, the longest first
  /// Share of the kernel time that is neither busy nor skipped, 0 to 1; 1 without kernels.
  [[nodiscard]] double reproduced() const;
};

[[nodiscard]] Coverage coverage_of(const Benchmark& benchmark);

/// The kernels of both.
[[nodiscard]] Coverage sum_of(const Coverage& a, const Coverage& b);

/// A table; its percentages, of one decimal, add up to 100.0 (largest remainder).
[[nodiscard]] std::string coverage_text(const Coverage& coverage);

/// Percentages of one decimal that add up to 100.0, in the order of @p parts; all 0 for nothing.
[[nodiscard]] std::vector<double> percentages(const std::vector<double>& parts);

}  // namespace lockstep::generate
