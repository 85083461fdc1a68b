#pragma once

#include <vector>

#include "traces/kineto/recorded_trace.hpp"

namespace lockstep::kineto {

/// The ranks of a timeline that holds several, as `lockstep run` writes them (processes named `rank 3 host`,
/// `rank 3 GPU ...`); any other trace as it is.
[[nodiscard]] std::vector<RecordedTrace> split_ranks(RecordedTrace trace);

}  // namespace lockstep::kineto
