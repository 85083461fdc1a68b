#pragma once

#include <vector>

#include "ops/program.hpp"
#include "traces/replay/rank_recording.hpp"

namespace lockstep::replay {

/// A rank's Program, and what of the trace each of its instructions stands for.
struct RankProgram {
  Program program;
  /// Work of a Launch or Collective, operator of a RangeBegin, by thread and instruction; else kNone.
  std::vector<std::vector<std::uint32_t>> subjects;
  KernelOrigins origins;  ///< of the Program's kernels
};

/// Writes the trace as a Program: what each host thread did between its calls, its launches with the start
/// lag of their work, waits, order between threads and streams. With the recorded durations it takes place
/// again as it was recorded, but for what contradicts itself in the trace (its report says what).
/// @throws InputError when it has more threads and streams than a rank can have
[[nodiscard]] RankProgram write_program(const RankRecording& rank);

}  // namespace lockstep::replay
