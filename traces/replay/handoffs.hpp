#pragma once

/// @file
/// What host threads wait for without a call that a profiler records: each other, and events of PyTorch's
/// own.

#include <vector>

#include "traces/replay/waits.hpp"

namespace lockstep::replay {

/// A thread goes on because another one has come to some point: forward to autograd's thread and back.
struct Handoff {
  std::uint32_t from = 0, to = 0;  ///< threads
  Nanoseconds at = 0;              ///< the end of what `from` did last
  Nanoseconds begin = 0, end = 0;  ///< when `to` was silent
};

struct SilentWaits {
  std::vector<Handoff> handoffs;  ///< by `end`
  std::vector<HostWait> waits;    ///< without a call, by thread and `begin`
};

/// Looks at every time that a thread is silent (no call or operator begins or ends):
///   another thread was active then, and falls silent as this one goes on   -> it handed over
///   GPU work ends just then, and its stream is drained or communicates     -> the thread waited for it
///   else the thread computed.
[[nodiscard]] SilentWaits find_silent_waits(kineto::RecordedTrace& trace, const TraceLinks& links,
                                            const std::vector<bool>& is_communication);

}  // namespace lockstep::replay
