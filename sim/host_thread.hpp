#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "ops/program.hpp"
#include "sim/event.hpp"
#include "sim/host_spans.hpp"
#include "sim/noise.hpp"
#include "sim/rank_log.hpp"
#include "sim/stream_item.hpp"
#include "sim/variation.hpp"

namespace lockstep {

class Rank;

/// A CPU thread of a rank as an actor with a local clock: executes its instructions, step after step, and
/// stops only where a real one would block (or where it is so far ahead that more would only cost memory).
class HostThread {
 public:
  explicit HostThread(std::uint8_t self) : self_{self}, spans_{self} {}

  void advance(Rank& rank);

  /// Lets @p noise interrupt it from now on.
  void disturb(std::unique_ptr<RankNoise> noise) { noise_ = std::move(noise); }

  [[nodiscard]] bool done() const { return done_; }
  [[nodiscard]] double clock() const { return clock_; }
  [[nodiscard]] double blocked() const { return blocked_; }  ///< seconds in waits so far
  [[nodiscard]] std::uint32_t next() const { return next_; }
  [[nodiscard]] std::uint32_t step() const { return step_; }
  /// Kernels that it launches, from the launch that it is at, before it does anything else but work.
  [[nodiscard]] std::uint32_t launches_to_come(const Rank& rank) const;
  /// Events it is waiting for, for the deadlock report.
  [[nodiscard]] const std::vector<EventSlot>& awaited() const { return awaited_; }

 private:
  class SeenRow;
  class QueuedRow;
  enum class Outcome : std::uint8_t { Done, Stop };

  bool advance_in_step(Rank& rank);
  Outcome execute(Rank& rank, const Instruction& instruction);
  Outcome launch(Rank& rank, const Instruction& instruction);
  Outcome wait(Rank& rank, const Instruction& instruction);
  Outcome await(Rank& rank, const Instruction& instruction);
  void begin_wait(Rank& rank, const Instruction& instruction);
  void work(Rank& rank, const Instruction& instruction);
  void record(Rank& rank, const Instruction& instruction);
  void stream_wait(Rank& rank, const Instruction& instruction);
  void post(Rank& rank, const Instruction& instruction);
  [[nodiscard]] HostSpans::Place place(const Rank& rank) const;
  bool must_pause(Rank& rank, std::uint8_t stream);
  bool pauses(Rank& rank, std::uint8_t stream);
  void put(Rank& rank, std::uint8_t stream, const StreamItem& item);
  [[nodiscard]] double value_of(Rank& rank, const Instruction& launch) const;
  bool launch_in_a_row(Rank& rank, std::span<const Instruction> instructions,
                       const Variation::Row& variation);
  bool queue_in_a_row(Rank& rank, std::span<const Instruction> instructions, const Variation::Row& variation);
  void spend(float seconds) { clock_ += static_cast<double>(seconds) * factor_; }
  EventSlot queue_record(Rank& rank, std::uint8_t stream);
  void wait_until(Rank& rank, const Occurrence& occurrence);
  void held_up(Rank& rank, double until, const Cause& cause);
  void show(Rank& rank, const HostSpans::Occupation& occupation) const;
  void log_end(Rank& rank) const;
  void begin_step(Rank& rank);
  void suffer_noise(Rank& rank);
  void log_noise(Rank& rank, const RankNoise::Interruption& interruption) const;
  void end_step(Rank& rank);
  /// StreamItem::where of what the current instruction puts on a stream.
  [[nodiscard]] std::uint32_t where() const {
    return static_cast<std::uint32_t>(self_) << StreamItem::kThreadShift | next_;
  }

  double clock_ = 0;
  double blocked_ = 0;
  double factor_ = 1;  // on the host time of the current instruction
  double wait_start_ = 0;
  std::uint32_t next_ = 0;
  std::uint32_t step_ = 0;
  std::uint8_t self_;
  bool done_ = false;
  bool begun_ = false;              // the current instruction's lead has been spent
  std::vector<EventSlot> awaited_;  // what is left of the current wait
  HostSpans spans_;
  std::unique_ptr<RankNoise> noise_;  // null: none
};

}  // namespace lockstep
