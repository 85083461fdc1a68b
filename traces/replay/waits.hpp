#pragma once

/// @file
/// Who waits for which GPU work, said by the trace or inferred from its times.

#include <vector>

#include "traces/replay/trace_links.hpp"

namespace lockstep::replay {

/// How a dependency came to be known.
enum class Evidence : std::uint8_t {
  Recorded,  ///< CUPTI's synchronisation records name it
  Implied,   ///< follows from what the call does: a stream's or the device's latest work
  Timed,     ///< what waits goes on as soon as what it waits for ends
  Assumed,   ///< the usual order of PyTorch's communication streams; the times do not contradict
};

/// cudaStreamWaitEvent: @p lane goes on only when @p work (of another stream) has ended.
struct StreamWait {
  std::uint32_t call = kNone, lane = kNone, work = kNone;
  Evidence evidence = Evidence::Assumed;
};

/// A host thread blocks until @p work has ended (kNone: the device is idle).
struct HostWait {
  std::uint32_t thread = 0;
  std::uint32_t call = kNone;  ///< kNone: nothing recorded, inferred from a gap
  Nanoseconds begin = 0, end = 0;
  std::uint32_t work = kNone;
  bool on_device = false;  ///< for all streams
  Evidence evidence = Evidence::Implied;
};

/// @p is_communication by work. In the order of their calls; calls that wait for nothing that is in the trace
/// are left out and counted in the report.
[[nodiscard]] std::vector<StreamWait> find_stream_waits(kineto::RecordedTrace& trace, const TraceLinks& links,
                                                        const std::vector<bool>& is_communication);

/// Waits of calls, in the order of calls.
[[nodiscard]] std::vector<HostWait> find_host_waits(kineto::RecordedTrace& trace, const TraceLinks& links);

}  // namespace lockstep::replay
