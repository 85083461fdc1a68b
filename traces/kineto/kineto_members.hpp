#pragma once

#include <string_view>

#include "traces/kineto/recorded_trace.hpp"

namespace lockstep::kineto {

/// Takes a member beside `traceEvents`: distributedInfo, deviceProperties, baseTimeNanoseconds, options of
/// the profiler. A member that does not parse is in the report.
void take_trace_member(std::string_view key, std::string_view text, RecordedTrace& trace, Nanoseconds& base);

/// Adds @p base to all times, and what makes none negative, and puts everything in the order that
/// RecordedTrace promises.
void shift_and_sort(RecordedTrace& trace, Nanoseconds base);

}  // namespace lockstep::kineto
