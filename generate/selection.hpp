#pragma once

#include <string>
#include <vector>

#include "generate/benchmark.hpp"

namespace lockstep::generate {

/// Which part of a job a benchmark has. Host time of what is left out is still spent, but for what lies
/// outside a range.
struct Selection {
  std::vector<std::string> only;      ///< parts of names of kernels, families or collectives; empty: all
  std::vector<std::string> families;  ///< whole names, `communication` among them; empty: all
  std::string range;                  ///< part of a range's name; empty: the whole step
  std::string stream;                 ///< part of a stream's name; empty: all
  bool compute = true, communication = true, host = true;
};

/// @throws std::invalid_argument when nothing is left, with what there would be
void select(Benchmark& benchmark, const Selection& selection);

/// What is done with kernels that are not reproduced by what they do.
enum class Fill : std::uint8_t { Busy, Skip, Error };

/// @throws std::invalid_argument for Fill::Error where there are such kernels
void fill(Benchmark& benchmark, Fill how);

/// Names become numbers: of kernels, ranges, threads, streams, groups.
void obfuscate(Benchmark& benchmark);

}  // namespace lockstep::generate
