#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "ops/program.hpp"

namespace lockstep::synth {

/// Tells which instructions of a Program are kept, by thread and instruction.
using KeptInstructions = std::vector<std::vector<bool>>;

/// Finds the stream waits that order work which is kept, and the records that somebody waits for, with vector
/// clocks: a wait for what its stream has waited for already orders nothing.
/// @param kept says of launches and collectives whether they are work; set here for waits and records
void keep_needed_order(const Program& program, KeptInstructions& kept);

}  // namespace lockstep::synth
