#pragma once

#include <vector>

#include "traces/replay/rank_recording.hpp"

namespace lockstep::replay {

/// When a launch takes effect, and how much later its work begins (Opcode::StartLag).
struct Start {
  Nanoseconds issue = 0;         ///< within its call
  Nanoseconds after_launch = 0;  ///< >= 0
  Nanoseconds after_work = 0;    ///< >= 0
};

/// Splits what passed before each piece of work into what the launch and what the stream took. With P when
/// its stream and what that waits for were done, and S its start:
///
///   launch-bound  issue + typical latency > P + typical gap    after_launch = S - issue
///   queue-bound   else                                         after_work = S - P
///
/// and the other one is the trace's median, or less where S leaves no room for it. Simulated with the
/// recorded times either gives S back.
/// @param anchors by work without a launch: the work behind whose launch it is queued; kNone: at the start
[[nodiscard]] std::vector<Start> find_starts(const RankRecording& rank,
                                             const std::vector<std::uint32_t>& anchors);

}  // namespace lockstep::replay
