#pragma once

#include <string>
#include <vector>

#include "generate/benchmark.hpp"

namespace lockstep::generate {

/// Part of a job that a benchmark keeps. The host time of omitted work is still spent, except outside the
/// chosen range.
struct Selection {
  std::vector<std::string> only;      ///< parts of names of kernels, families or collectives; empty: all
  std::vector<std::string> families;  ///< whole names, `communication` among them; empty: all
  std::string range;                  ///< part of a range's name; empty: the whole step
  std::string stream;                 ///< part of a stream's name; empty: all
  bool compute = true, communication = true, host = true;
};

/// @throws std::invalid_argument when nothing is left, with what there would be
void select(Benchmark& benchmark, const Selection& selection);

/// Treatment of kernels whose work the benchmark cannot reproduce.
enum class Fill : std::uint8_t { Busy, Skip, Error };

/// @throws std::invalid_argument for Fill::Error where there are such kernels
void fill(Benchmark& benchmark, Fill how);

/// Names become numbers: of kernels, ranges, threads, streams, groups.
void obfuscate(Benchmark& benchmark);

}  // namespace lockstep::generate
