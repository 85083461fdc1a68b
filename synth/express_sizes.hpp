#pragma once

#include <span>

#include "synth/model.hpp"

namespace lockstep::synth {

/// Finds the sizes of all entries as products of their job's symbols. Each place has an entry of its own
/// (fit.cpp). Where the same stands in a block, or between two blocks, of several jobs, their sizes are
/// compared place by place, and one product must give them all.
void express_sizes(std::span<JobModel> jobs);

}  // namespace lockstep::synth
