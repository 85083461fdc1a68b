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
  /// Raises @p clock, at which the launch is called, to when there is room for it. False: that is not known.
  [[nodiscard]] bool admit(std::uint32_t /*place*/, double& /*clock*/) { return true; }
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

  /// @param observer as UnseenRow, which has room for all; places count from the row's first instruction
  /// @param launches raised by their number
  /// @return the thread's clock, which was @p clock
  template <class Observer>
  double run(double clock, StreamProgress& stream, std::uint32_t& launches, Observer observer) const {
    Runner<Observer> runner{stream, timing.kernel_gap, timing.launch_to_start, observer};
    std::uint32_t passed = 0;
    clock = walk(clock, passed, runner);
    stream = runner.progress;
    launches += runner.launches;
    return clock;
  }

  /// Calls `launch(place, issue, seconds)` of @p taker for each kernel, and besides `admit` and `ends` as
  /// UnseenRow has them.
  /// @param passed raised by the instructions that are done: all until a launch is not admitted
  /// @return the thread's clock, which was @p clock
  template <class Taker>
  double walk(double clock, std::uint32_t& passed, Taker& taker) const {
    const RankTiming constants = timing;
    const Variation::Row factors = variation;
    std::uint32_t place = 0;
    for (const Instruction& instruction : instructions) {
      const std::uint64_t draw = factors.draw(first + place);
      const double host_factor = constants.host_factor * factors.host(draw);
      double called = clock + static_cast<double>(instruction.lead) * host_factor;
      if (instruction.op != Opcode::Launch) {
        clock = called + static_cast<double>(instruction.cost) * host_factor;
        taker.ends(place++, clock);
        continue;
      }
      if (!taker.admit(place, called)) {
        break;
      }
      clock = called + static_cast<double>(instruction.cost) * host_factor;
      const std::uint32_t kernel =
          instruction.per_rank ? kernel_slots[instruction.operand] : instruction.operand;
      taker.launch(place, clock, kernel_seconds[kernel] * (constants.gpu_factor * factors.kernel(draw)));
      taker.ends(place++, clock);
    }
    passed += place;
    return clock;
  }

 private:
  /// A stream that takes each kernel at once.
  template <class Observer>
  struct Runner {
    StreamProgress progress;
    double kernel_gap;
    double launch_to_start;
    Observer observer;
    std::uint32_t launches = 0;

    [[nodiscard]] bool admit(std::uint32_t place, double& clock) { return observer.admit(place, clock); }
    void launch(std::uint32_t place, double issue, double seconds) {
      ++launches;
      const double start = std::max(progress.clock + kernel_gap, issue + launch_to_start);
      const double end = start + seconds;
      progress.compute_kernel(start, end);
      observer.kernel(place, issue, start, end);
    }
    void ends(std::uint32_t place, double clock) { observer.ends(place, clock); }
  };
};

}  // namespace lockstep
