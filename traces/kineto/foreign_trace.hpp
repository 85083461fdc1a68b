#pragma once

#include <string>

#include "traces/kineto/recorded_trace.hpp"

namespace lockstep::kineto {

/// The kind of profile of a Chrome trace, by the names of its processes (foreign_process()); empty: not
/// known, or PyTorch's.
[[nodiscard]] std::string foreign_trace(const RecordedTrace& trace);

}  // namespace lockstep::kineto
