#pragma once

#include <vector>

#include "ops/program.hpp"
#include "traces/replay/what_if.hpp"

namespace lockstep::replay {

/// Kernels that all ranks launch take the median or the least of their times, on the ranks and of the names
/// that @p edit says.
/// @param programs by rank
/// @throws std::invalid_argument for a rank that there is not
void cure_stragglers(std::vector<Program>& programs, const WhatIfSpec& edit);

}  // namespace lockstep::replay
