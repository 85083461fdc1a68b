#pragma once

#include <vector>

#include "ops/program.hpp"
#include "traces/replay/straggler_peers.hpp"

namespace lockstep::replay {

/// Kernels that all ranks of a stage launch take what is typical of their times, on the ranks, of the names
/// and within the operators that @p edit says. The k-th kernel of a name on a stream is the same on all
/// ranks.
/// @param programs by rank
/// @param origins likewise, of their kernels
void replace_straggler_times(std::vector<Program>& programs, const std::vector<KernelOrigins>& origins,
                             const WhatIfSpec& edit, const StragglerPeers& peers);

}  // namespace lockstep::replay
