#pragma once

#include <string>

#include "traces/kineto/recorded_trace.hpp"

namespace lockstep::kineto {

/// Whose profile a Chrome trace is, by the names of its processes (foreign_process()); empty: not known, or
/// PyTorch's.
[[nodiscard]] std::string foreign_trace(const RecordedTrace& trace);

}  // namespace lockstep::kineto
