#pragma once

#include "generate/source.hpp"

namespace lockstep::generate {

/// Sets the times that streams of a small job rest after collectives and copies: what these took among all
/// ranks, less what they take among those that are there.
/// @param was_recorded collectives of the source have times of their own, and no model
void add_delays(Benchmark& small, const Machine& machine, bool was_recorded);

}  // namespace lockstep::generate
