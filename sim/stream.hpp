#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include "sim/event.hpp"
#include "sim/rank_log.hpp"
#include "sim/ring.hpp"

namespace lockstep {

class Rank;
struct Instruction;
struct RankTiming;

/// What a host thread has put on a stream. `where` says which instruction did; `ticket` is the correlation
/// number of a launch, the slot of an event, or the number of the step that ends here.
struct StreamItem {
  double issue = 0;  ///< when the call returned on the host, s
  std::uint32_t where = 0;
  std::uint32_t ticket = 0;

  static constexpr std::uint32_t kStepEnd = 0xffffffff;
  static constexpr unsigned kThreadShift = 28;  ///< upper bits of `where`: thread; lower: instruction
  [[nodiscard]] std::uint8_t thread() const { return static_cast<std::uint8_t>(where >> kThreadShift); }
  [[nodiscard]] std::uint32_t instruction() const { return where & ((1U << kThreadShift) - 1); }
};

/// Seconds a stream spent in each kind of work, over all steps.
struct StreamTotals {
  double compute = 0;
  double copy = 0;
  double waiting = 0;   ///< communication kernels until all members had arrived
  double transfer = 0;  ///< communication kernels from then on
};

/// How the members of a collective came together, or a copy and its engine.
struct Encounter {
  double met = 0;  ///< when the last one arrived, s
  std::uint32_t last_rank = 0;
  std::uint32_t last_entry = 0;  ///< in that rank's log
  std::uint8_t last_stream = 0;
};

/// What every piece of work moves on; small enough for a loop to keep it in registers.
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
class Stream {
 public:
  /// Goes on as far as possible.
  void advance(Rank& rank, std::uint8_t self);

  /// The collective or copy at the head has ended at @p date.
  void complete(Rank& rank, std::uint8_t self, double date, const Encounter& encounter);

  /// Stepped mode: @p date, asked for earlier, has come. Ignored when what it was for has moved.
  void tick(Rank& rank, std::uint8_t self, double date);

  /// Stepped mode: kernels now run @p ratio times as long as before from @p now on.
  void retime(Rank& rank, std::uint8_t self, double now, double ratio);

  /// @return whether the queue was empty: only then the stream has to be woken
  bool push(const StreamItem& item) {
    const bool was_empty = queue_.empty();
    queue_.push(item);
    return was_empty;
  }

  /// Its program cannot fill its launch queue, so that nobody needs to know when launches have started.
  void never_fills() {
    can_fill_ = false;
    starts_.grow();
  }

  /// Counts a launch in, advancing @p clock to the moment when the launch queue has room.
  /// False: that moment is not known yet.
  bool admit(double& clock, std::uint32_t depth) {
    if (!can_fill_) {
      return true;
    }
    host_clock_ = clock;
    if (unstarted_ >= depth && !make_room(clock, depth)) {
      return false;
    }
    ++unstarted_;
    return true;
  }

  // For a thread that does the work of an idle stream itself (HostThread::launch_in_a_row).
  [[nodiscard]] const StreamProgress& progress() const { return progress_; }
  /// How many launches may start one after the other from now on; 0: the first one of all, or no room.
  [[nodiscard]] std::uint32_t starts_in_a_row(double clock, std::uint32_t depth);
  /// Where the start of the @p number th of them goes (nowhere in particular if the queue cannot fill).
  [[nodiscard]] double& start_in_a_row(std::uint32_t number) { return starts_.behind(number); }
  void started_in_a_row(std::uint32_t count, const StreamProgress& progress);

  [[nodiscard]] std::size_t backlog() const { return queue_.size(); }
  [[nodiscard]] bool blocked() const { return state_ != State::Ready; }
  [[nodiscard]] bool idle() const { return queue_.empty() && state_ == State::Ready; }
  [[nodiscard]] std::uint32_t step() const { return step_; }
  [[nodiscard]] double clock() const { return progress_.clock; }
  [[nodiscard]] double begun() const { return start_; }
  [[nodiscard]] std::uint32_t logged() const { return entries_; }
  [[nodiscard]] StreamTotals totals() const {
    return {progress_.compute, totals_.copy, totals_.waiting, totals_.transfer};
  }
  [[nodiscard]] std::uint64_t fingerprint() const { return progress_.fingerprint; }
  [[nodiscard]] std::uint64_t launches() const { return launches_; }

  /// What stopped it, for the deadlock report.
  enum class State : std::uint8_t { Ready, AwaitsEvent, InCollective, InCopy, Timed, Running };
  [[nodiscard]] State state() const { return state_; }
  [[nodiscard]] const StreamItem& head() const { return queue_.front(); }

  void let_know(unsigned actor) { listeners_ |= 1ULL << actor; }

 private:
  [[nodiscard]] double start_of(const RankTiming& timing, const StreamItem& item) const;
  bool run_in_a_row(const Rank& rank);
  void launch(Rank& rank, std::uint8_t self, const StreamItem& item, const Instruction& instruction);
  void begin(Rank& rank, std::uint8_t self, const StreamItem& item);
  void begin_collective(Rank& rank, std::uint8_t self);
  void begin_copy(Rank& rank, std::uint8_t self, std::uint32_t kernel);
  void begin_compute(Rank& rank, std::uint8_t self, double seconds);
  void end_compute(Rank& rank, std::uint8_t self, const StreamItem& item, double end);
  void note_compute(Rank& rank, std::uint8_t self, const StreamItem& item, double end);
  void note_completion(Rank& rank, std::uint8_t self, double end, const Encounter& encounter);
  void record(Rank& rank, std::uint8_t self, const StreamItem& item);
  bool wait_for_event(Rank& rank, std::uint8_t self, EventSlot slot);
  [[nodiscard]] Cause cause_of_record(const Rank& rank, std::uint8_t self, const StreamItem& item,
                                      bool by_host) const;
  bool must_wait_until(Rank& rank, std::uint8_t self, double start);
  void log_start(Rank& rank, std::uint8_t self, const StreamItem& item);
  bool make_room(double& clock, std::uint32_t depth);
  void forget_started(double clock);
  void end_step(Rank& rank, std::uint32_t step);

  // What every kernel touches comes first: two cache lines.
  StreamProgress progress_;
  Ring<StreamItem> queue_;
  Ring<double> starts_;    // of launches that the host may not know to have started
  double start_ = 0;       // of the item at the head, once it has begun
  double host_clock_ = 0;  // when a thread launched last
  std::uint64_t launches_ = 0;
  std::uint64_t listeners_ = 0;  // host threads that paused because of a long backlog
  std::uint32_t unstarted_ = 0;  // launches queued, and those in starts_
  std::uint32_t step_ = 0;
  State state_ = State::Ready;
  bool can_fill_ = true;       // its launch queue
  StreamTotals totals_;        // but for `compute`
  std::uint32_t entries_ = 0;  // in the log
  double due_ = -1;            // stepped mode: the date of the latest call_at()
  Cause raised_by_;            // the event that moved the clock last
};

}  // namespace lockstep
