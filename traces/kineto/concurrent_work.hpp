#pragma once

#include <vector>

#include "traces/kineto/recorded_trace.hpp"

namespace lockstep::kineto {

/// By RecordedTrace::work, whether something ran on another stream of the same device for a part of the time:
/// kernels, copies, collectives, memory sets. Work that only touches does not count.
[[nodiscard]] std::vector<bool> runs_beside_others(const RecordedTrace& trace);

}  // namespace lockstep::kineto
