#pragma once

#include <vector>

#include "traces/kineto/recorded_trace.hpp"

namespace lockstep::kineto {

/// Tells by RecordedTrace::work whether other work ran for a part of the time on another stream of the same
/// device: kernels, copies, collectives, memory sets. Work that only touches does not count.
[[nodiscard]] std::vector<bool> runs_beside_others(const RecordedTrace& trace);

}  // namespace lockstep::kineto
