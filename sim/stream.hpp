#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <memory>

#include "sim/event.hpp"
#include "sim/launch_queue.hpp"
#include "sim/rank_log.hpp"
#include "sim/rendezvous.hpp"
#include "sim/ring.hpp"
#include "sim/stream_item.hpp"

namespace lockstep {

class Rank;
struct Instruction;
struct RankTiming;

/// Seconds that work other than compute kernels took on a stream, over all steps.
struct TransferTotals {
  double copy = 0;
  double waiting = 0;   ///< communication kernels until all members had arrived
  double transfer = 0;  ///< communication kernels from then on
};

/// Seconds a stream spent in each kind of work, over all steps.
struct StreamTotals : TransferTotals {
  double compute = 0;
};

/// State that every piece of work moves on; small enough for a loop to keep it in registers.
struct StreamProgress {
  double clock = 0;  ///< end of the latest work
  std::uint64_t fingerprint = 0;
  double compute = 0;

  void work(double start, double end) {
    // Order-dependent within the stream, so that a swap or a shift of any kernel changes it.
    fingerprint = (fingerprint ^ std::bit_cast<std::uint64_t>(start)) * 0x9e3779b97f4a7c15ULL +
                  std::bit_cast<std::uint64_t>(end);
    clock = end;
  }

  void compute_kernel(double start, double end) {
    compute += end - start;
    work(start, end);
  }
};

/// An in-order queue of GPU work (cudaStream_t) as an actor with a local clock: it runs ahead of global time
/// as long as the beginning of its next item is known, and stops at an event that has not happened, a
/// collective or a copy.
class alignas(64) Stream {
 public:
  /// Goes on as far as possible.
  void advance(Rank& rank, std::uint8_t self);

  /// The collective or copy at the head has ended at @p date.
  void complete(Rank& rank, std::uint8_t self, double date, const Rendezvous& rendezvous);

  /// Stepped mode: its due() has come.
  void tick(Rank& rank, std::uint8_t self);

  /// Stepped mode: from @p now on kernels take Rank::slowdown() times their time.
  void retime(Rank& rank, std::uint8_t self, double now);

  /// Stepped mode: a thread that has let_know() needs to hear of starts. @return whether it hears of more now
  bool shorten_row(Rank& rank, std::uint8_t self);

  /// @return whether the queue was empty: only then the stream has to be woken
  bool push(const StreamItem& item) {
    const bool was_empty = queue_.empty();
    queue_.push(item);
    return was_empty;
  }

  /// Its program may fill its launch queue: threads need to know when launches have started.
  void may_fill() { launch_queue_ = std::make_unique<LaunchQueue>(); }
  /// Null: it cannot fill.
  [[nodiscard]] LaunchQueue* launch_queue() { return launch_queue_.get(); }

  // For a thread that does the work of an idle stream itself.

  /// A record that the stream takes at once.
  Occurrence record_at_once(Rank& rank, std::uint8_t self, double issue, std::uint32_t where) {
    return reach_record(rank, self, {issue, where, 0});
  }
  /// A wait for an event that has happened.
  void wait_until(Rank& rank, std::uint8_t self, const Occurrence& occurrence);
  void end_step(Rank& rank, std::uint8_t self, std::uint32_t step);

  [[nodiscard]] const StreamProgress& progress() const { return progress_; }
  void launched_in_a_row(std::uint32_t count, const StreamProgress& progress) {
    launches_ += count;
    progress_ = progress;
  }

  [[nodiscard]] std::size_t backlog() const { return queue_.size(); }
  [[nodiscard]] bool blocked() const { return state_ != State::Ready; }
  [[nodiscard]] bool idle() const { return queue_.empty() && state_ == State::Ready && !lag_.is_pending; }
  [[nodiscard]] std::uint32_t step() const { return step_; }
  [[nodiscard]] double clock() const { return progress_.clock; }
  [[nodiscard]] double begun() const { return start_; }
  [[nodiscard]] StreamTotals totals() const { return {totals_, progress_.compute}; }
  [[nodiscard]] std::uint64_t fingerprint() const { return progress_.fingerprint; }
  [[nodiscard]] std::uint64_t launches() const { return launches_; }

  /// Stepped mode: the date of its latest Rank::call_at().
  [[nodiscard]] double due() const { return due_; }

  /// The reason why it stopped, for the deadlock report.
  enum class State : std::uint8_t { Ready, AwaitsEvent, InCollective, InCopy, Timed, Running };
  [[nodiscard]] State state() const { return state_; }
  [[nodiscard]] const StreamItem& head() const { return queue_.front(); }

  void let_know(unsigned actor) { listeners_ |= 1ULL << actor; }

 private:
  [[nodiscard]] double start_of(const RankTiming& timing, const StreamItem& item) const;
  [[nodiscard]] static bool copies(const Rank& rank, const StreamItem& item);
  bool run_in_a_row(Rank& rank, std::uint8_t self);
  void launch(Rank& rank, std::uint8_t self, const StreamItem& item, const Instruction& instruction);
  void begin(Rank& rank, std::uint8_t self, const StreamItem& item);
  void begin_collective(Rank& rank, std::uint8_t self, const StreamItem& item);
  void begin_copy(Rank& rank, std::uint8_t self, std::uint32_t kernel);
  void begin_row(Rank& rank, std::uint8_t self);
  [[nodiscard]] std::uint32_t launches_to_come(const Rank& rank) const;
  void go_on_in_row(Rank& rank, std::uint8_t self);
  void ask_for_end(Rank& rank, std::uint8_t self);
  void end_row(Rank& rank, std::uint8_t self);
  void begin_in_row(Rank& rank, std::uint8_t self);
  void end_kernels(Rank& rank, std::uint8_t self, double by, std::uint32_t most);
  void end_compute(Rank& rank, std::uint8_t self, const StreamItem& item, double end);
  void note_compute(Rank& rank, std::uint8_t self, const StreamItem& item, double end);
  void note_completion(Rank& rank, std::uint8_t self, double end, const Rendezvous& rendezvous);
  Occurrence reach_record(Rank& rank, std::uint8_t self, const StreamItem& item);
  void record(Rank& rank, std::uint8_t self, const StreamItem& item);
  bool wait_for_event(Rank& rank, std::uint8_t self, EventSlot slot);
  [[nodiscard]] Cause cause_of_record(const Rank& rank, std::uint8_t self, const StreamItem& item,
                                      bool by_host) const;
  bool must_wait_until(Rank& rank, std::uint8_t self, double start);
  void log_start(Rank& rank, std::uint8_t self, const StreamItem& item);

  /// How late the next work begins (Opcode::StartLag).
  struct Lag {
    double after_launch = 0;
    double after_work = 0;
    bool is_pending = false;
  };

  StreamProgress progress_;
  Ring<StreamItem> queue_;
  std::unique_ptr<LaunchQueue> launch_queue_;
  double start_ = 0;  // of the item at the head, once it has begun
  std::uint64_t launches_ = 0;
  std::uint64_t listeners_ = 0;  // host threads that paused because of a long backlog
  TransferTotals totals_;
  Lag lag_;
  double due_ = -1;  // stepped mode: the date of the latest Rank::call_at()
  // Stepped mode, a row that runs: its first kernel has the end `end_` unless the pace changes.
  double end_ = 0;
  double pace_ = 1;              // Rank::slowdown() that `end_` and `due_` hold for
  double since_ = 0, left_ = 0;  // what was left of that kernel at that date, in time at pace 1
  std::uint32_t row_ = 0;
  std::uint32_t step_ = 0;
  State state_ = State::Ready;
};

}  // namespace lockstep
