#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "ops/program.hpp"
#include "sim/rank.hpp"
#include "sim/stream.hpp"
#include "sim/variation.hpp"

namespace lockstep {

/// Launches of compute kernels on one stream that waits for nothing, and host time between them: what
/// HostThread::launch() and Stream::launch() do for each, with the state of both actors in registers.
struct LaunchRow {
  std::span<const Instruction> instructions;
  std::uint32_t first;  ///< StreamItem::where of the first one
  const double* kernel_seconds;
  const RankTiming& timing;
  const Variation::Row& variation;

  /// @param note called with start and end of each kernel
  /// @param launches raised by their number
  /// @return the thread's clock, which was @p clock
  template <class Note>
  double run(double clock, StreamProgress& stream, std::uint32_t& launches, Note note) const {
    const RankTiming constants = timing;
    const Variation::Row factors = variation;
    StreamProgress progress = stream;
    std::uint32_t where = first;
    for (const Instruction& instruction : instructions) {
      const std::uint64_t draw = factors.draw(where++);
      const double host_factor = constants.host_factor * factors.host(draw);
      clock += static_cast<double>(instruction.lead) * host_factor;
      clock += static_cast<double>(instruction.cost) * host_factor;
      if (instruction.op != Opcode::Launch) {
        continue;
      }
      ++launches;
      const double start = std::max(progress.clock + constants.kernel_gap, clock + constants.launch_to_start);
      const double end =
          start + kernel_seconds[instruction.operand] * (constants.gpu_factor * factors.kernel(draw));
      progress.compute_kernel(start, end);
      note(start, end);
    }
    stream = progress;
    return clock;
  }
};

}  // namespace lockstep
