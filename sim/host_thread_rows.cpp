/// @file
/// Launches that follow each other on one stream, taken together (sim/launch_row.hpp).

#include <algorithm>
#include <cassert>
#include <cstdint>
#include <span>

#include "sim/host_thread.hpp"
#include "sim/launch_row.hpp"
#include "sim/rank.hpp"

namespace lockstep {

/// Meters, logs and counts in what a row launches. Its stream waits for nothing, so that all launches ahead
/// have known starts.
class HostThread::SeenRow {
 public:
  SeenRow(HostThread& thread, Rank& rank, std::uint8_t stream)
      : thread_{thread},
        rank_{rank},
        meter_{rank.activity.get()},
        queue_{rank.streams()[stream].launch_queue()},
        log_{rank.log && rank.log->step == thread.step_ ? rank.log.get() : nullptr},
        first_{thread.next_},
        stream_{stream} {}

  [[nodiscard]] bool admit(std::uint32_t place, double& clock) {
    if (queue_ == nullptr) {
      return true;
    }
    thread_.clock_ = clock;
    thread_.next_ = first_ + place;
    [[maybe_unused]] const bool is_known = queue_->admit(clock, rank_.timing().launch_queue);
    assert(is_known);
    if (clock > thread_.clock_) {
      thread_.held_up(rank_, clock, {Cause::Kind::Stream, stream_, RankLog::kNoEntry});
    }
    return true;
  }

  void kernel(std::uint32_t place, double issue, double start, double end) {
    if (meter_ != nullptr) {
      meter_->compute(stream_, start, end);
    }
    if (queue_ != nullptr) {
      queue_->starts_at(start);
    }
    if (log_ != nullptr) {
      thread_.next_ = first_ + place;
      const StreamItem item{issue, thread_.where(), 0};
      const RankTiming& timing = rank_.timing();
      LogEntry& entry = log_->streams[stream_].begin(stream_, item, start, timing.launch_to_start);
      entry.end = end;
      entry.free_since = start - timing.kernel_gap;  // unless it waited for its launch: then nobody asks
    }
  }

  void ends(std::uint32_t place, double clock) {
    if (log_ != nullptr) {
      log_->instruction_ends[thread_.self_][first_ + place] = clock;
    }
  }

 private:
  HostThread& thread_;
  Rank& rank_;
  ActivityMeter* meter_;
  LaunchQueue* queue_;
  RankLog* log_;
  std::uint32_t first_;
  std::uint8_t stream_;
};

/// Takes the launches of a row to the queue of a stream that works in global time.
class HostThread::QueuedRow {
 public:
  QueuedRow(HostThread& thread, Rank& rank, std::uint8_t stream)
      : thread_{thread}, rank_{rank}, target_{rank.streams()[stream]}, first_{thread.where()} {}

  /// False: when there is room is not known yet.
  [[nodiscard]] bool admit(std::uint32_t /*place*/, double& clock) {
    LaunchQueue* const queue = target_.launch_queue();
    const double called = clock;
    if (queue == nullptr) {
      return true;
    }
    if (!queue->admit(clock, rank_.timing().launch_queue)) {
      return false;
    }
    thread_.blocked_ += clock - called;
    return true;
  }

  void launch(std::uint32_t place, double issue, double seconds) {
    was_empty_ |= target_.push({issue, first_ + place, rank_.next_correlation(), seconds});
  }

  void ends(std::uint32_t /*place*/, double /*clock*/) {}

  [[nodiscard]] bool was_empty() const { return was_empty_; }

 private:
  HostThread& thread_;
  Rank& rank_;
  Stream& target_;
  std::uint32_t first_;
  bool was_empty_ = false;
};

std::uint32_t HostThread::launches_to_come(const Rank& rank) const {
  const std::span<const Instruction> instructions = rank.program().threads[self_].instructions;
  const auto row = instructions.subspan(next_, rank.row(self_, next_));
  return static_cast<std::uint32_t>(
      std::ranges::count(row, Opcode::Launch, [](const Instruction& instruction) { return instruction.op; }));
}

/// Launches on a stream that waits for nothing, one after the other as long as they are compute kernels.
/// @return whether there was one; then the last is the current instruction
bool HostThread::launch_in_a_row(Rank& rank, std::span<const Instruction> instructions,
                                 const Variation::Row& variation) {
  const std::uint32_t row = rank.row(self_, next_);
  const std::uint8_t on = instructions[next_].stream;
  Stream& stream = rank.streams()[on];
  if (row == 0 || begun_ || !stream.idle() || stream.step() != step_ || stream.launches() == 0) {
    return false;
  }
  StreamProgress progress = stream.progress();
  const LaunchRow instructions_in_row{
      instructions.subspan(next_, row),      where(),       rank.kernel_seconds(),
      rank.assignment().kernel_slots.data(), rank.timing(), variation};
  const std::uint32_t last = next_ + row - 1;
  std::uint32_t launches = 0;
  clock_ = rank.is_observed() || stream.launch_queue() != nullptr
               ? instructions_in_row.run(clock_, progress, launches, SeenRow{*this, rank, on})
               : instructions_in_row.run(clock_, progress, launches, UnseenRow{});
  stream.launched_in_a_row(launches, progress);
  rank.skip_correlations(launches);
  next_ = last;
  return true;
}

/// Launches of compute kernels on one stream, one after the other as long as the launch queue has room, to a
/// stream that steps.
/// @return whether there was one; then the last is the current instruction
bool HostThread::queue_in_a_row(Rank& rank, std::span<const Instruction> instructions,
                                const Variation::Row& variation) {
  const std::uint32_t row = rank.row(self_, next_);
  if (row == 0 || begun_) {
    return false;
  }
  const std::uint8_t on = instructions[next_].stream;
  const LaunchRow instructions_in_row{
      instructions.subspan(next_, row),      where(),       rank.kernel_seconds(),
      rank.assignment().kernel_slots.data(), rank.timing(), variation};
  QueuedRow queued{*this, rank, on};
  std::uint32_t passed = 0;
  clock_ = instructions_in_row.walk(clock_, passed, queued);
  if (passed == 0) {
    return false;
  }
  next_ += passed - 1;
  if (queued.was_empty()) {
    rank.wake_stream(on);
  }
  return true;
}

}  // namespace lockstep
