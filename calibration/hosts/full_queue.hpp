#pragma once

#include <vector>

#include "traces/kineto/recorded_trace.hpp"

namespace lockstep {

/// Tells for each of the trace's calls whether it waited for room in a full launch queue. The time of such a
/// call is the GPU's, not the host's.
///
/// A stream's queue holds the launches that have not started. A recorded trace does not say how many it has
/// room for, only how many it held. It counts as full at nine tenths of the most that any stream held, if
/// those are 768 or more. A call waited where it came upon a full queue and work of that stream started
/// before it ended, which made the room. Events take places, too, but traces do not say on which stream: any
/// that is full will do. Work that was launched before the trace began counts: no call of the trace launched
/// it, and none that the trace launched started before it on its stream.
[[nodiscard]] std::vector<bool> waited_for_the_queue(const kineto::RecordedTrace& trace);

}  // namespace lockstep
