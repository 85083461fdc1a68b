#pragma once

#include <string>

#include "ops/job.hpp"
#include "sim/timeline.hpp"

namespace lockstep {

/// The name of a span for people: a kernel, a copy by its direction, a collective with its group
/// (`all_reduce, world`), a runtime call, a range or an operator; `noise` for an interruption.
[[nodiscard]] std::string span_name(const Job& job, const TimelineSpan& span);

/// Whether a span is on a stream; else it is on a host thread.
[[nodiscard]] bool is_on_gpu(const TimelineSpan& span);

}  // namespace lockstep
