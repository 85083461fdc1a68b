#pragma once

#include <span>
#include <vector>

#include "base/error.hpp"
#include "traces/kineto/recorded_trace.hpp"

namespace lockstep::replay {

/// The evidence that recordings are of different jobs: the first whose job has another number of ranks.
/// Empty: they may be of one.
[[nodiscard]] std::vector<Problem> different_jobs(std::span<const kineto::RecordedTrace> traces);

}  // namespace lockstep::replay
