#pragma once

#include <vector>

#include "traces/replay/communication.hpp"
#include "traces/replay/handoffs.hpp"

namespace lockstep::replay {

/// One rank's trace with all that was found out about it: the input of its Program.
struct RankRecording {
  kineto::RecordedTrace trace;
  TraceLinks links;
  WorkFamilies families;
  std::vector<StreamWait> stream_waits;
  std::vector<HostWait> host_waits;  ///< of calls, in their order
  SilentWaits silent;
  std::vector<std::uint32_t> communication;  ///< work that communicates, in order
  std::vector<Nanoseconds> ends;  ///< by work; of a matched collective the end that all members share
  std::vector<std::uint32_t> call_number;  ///< by work: index into `calls`; kNone: not a matched collective
  std::vector<RecordedCollective> collectives;  ///< all communication kernels
  std::vector<CollectiveCall> calls;            ///< those that are matched: Program::collectives
  std::vector<std::uint32_t> recorded_calls;    ///< by call: index into `collectives`
  std::vector<std::string> groups;              ///< that `calls` name
  Nanoseconds begin = 0;                        ///< of the window of all ranks, by this rank's clock
};

}  // namespace lockstep::replay
