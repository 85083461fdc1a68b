#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "ops/program.hpp"
#include "sim/rank.hpp"
#include "sim/stream.hpp"
#include "sim/variation.hpp"

namespace lockstep {

/// Nobody looks at a LaunchRow and its launch queue is never full. What others replace:
struct UnseenRow {
  /// @return when there is room for the launch that is called at @p clock
  [[nodiscard]] double admit(std::uint32_t /*place*/, double clock) { return clock; }
  /// A kernel whose launch returned at @p issue runs.
  void kernel(std::uint32_t /*place*/, double /*issue*/, double /*start*/, double /*end*/) {}
  /// The thread is done with an instruction.
  void ends(std::uint32_t /*place*/, double /*clock*/) {}
};

/// Launches of compute kernels on one stream that waits for nothing, and host time between them: what
/// HostThread::launch() and Stream::launch() do for each, with the state of both actors in registers.
struct LaunchRow {
  std::span<const Instruction> instructions;
  std::uint32_t first;  ///< StreamItem::where of the first one
  const double* kernel_seconds;
  const std::uint32_t* kernel_slots;  ///< of the rank
  const RankTiming& timing;
  const Variation::Row& variation;

  /// @param observer as UnseenRow; places count from the row's first instruction
  /// @param launches raised by their number
  /// @return the thread's clock, which was @p clock
  template <class Observer>
  double run(double clock, StreamProgress& stream, std::uint32_t& launches, Observer observer) const {
    const RankTiming constants = timing;
    const Variation::Row factors = variation;
    StreamProgress progress = stream;
    std::uint32_t place = 0;
    for (const Instruction& instruction : instructions) {
      const std::uint64_t draw = factors.draw(first + place);
      const double host_factor = constants.host_factor * factors.host(draw);
      clock += static_cast<double>(instruction.lead) * host_factor;
      if (instruction.op != Opcode::Launch) {
        clock += static_cast<double>(instruction.cost) * host_factor;
        observer.ends(place++, clock);
        continue;
      }
      clock = observer.admit(place, clock);
      clock += static_cast<double>(instruction.cost) * host_factor;
      ++launches;
      const double start = std::max(progress.clock + constants.kernel_gap, clock + constants.launch_to_start);
      const std::uint32_t kernel =
          instruction.per_rank ? kernel_slots[instruction.operand] : instruction.operand;
      const double end = start + kernel_seconds[kernel] * (constants.gpu_factor * factors.kernel(draw));
      progress.compute_kernel(start, end);
      observer.kernel(place, clock, start, end);
      observer.ends(place++, clock);
    }
    stream = progress;
    return clock;
  }
};

}  // namespace lockstep
