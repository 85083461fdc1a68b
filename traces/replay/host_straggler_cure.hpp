#pragma once

#include <vector>

#include "ops/program.hpp"
#include "traces/replay/straggler_peers.hpp"

namespace lockstep::replay {

/// Host time of steps (HostSteps) that all ranks of a stage have takes what is typical of it: before an
/// instruction and of it each for itself. That is data loading, Python between operators, operators, calls,
/// how long a thread takes to go on after a wait, and how late a rank begins; not what a thread waits for,
/// which follows from the rest. Only on the ranks and within the operators that @p edit says.
/// @param programs by rank
void cure_host(std::vector<Program>& programs, const WhatIfSpec& edit, const StragglerPeers& peers);

}  // namespace lockstep::replay
