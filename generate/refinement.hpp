#pragma once

#include <string>
#include <vector>

#include "generate/runtime/table.hpp"
#include "generate/score.hpp"

namespace lockstep::generate {

/// A kernel that a measurement corrected, or one that is too slow to be corrected.
struct RefinedKernel {
  std::uint32_t program = 0, kernel = 0;
  std::string name, backend;
  double expected = 0, measured = 0;  ///< s, alone on its GPU
  bool is_too_slow = false;           ///< nothing makes a kernel faster
};

/// Corrects kernels by what the same program measured. Busy kernels hold the GPU for as much more or less as
/// they were off by. Other kernels that were more than a tenth too fast rest for the difference.
/// @return what was corrected or cannot be
/// @throws std::invalid_argument where the measurement is of another program
std::vector<RefinedKernel> refine(benchmark::Table& table, const std::vector<MeasuredRank>& measured);

}  // namespace lockstep::generate
