#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "ops/job.hpp"
#include "sim/activity_meter.hpp"
#include "sim/compiled_program.hpp"
#include "sim/event.hpp"
#include "sim/host_thread.hpp"
#include "sim/interference.hpp"
#include "sim/rank_log.hpp"
#include "sim/run_context.hpp"
#include "sim/stream.hpp"

namespace lockstep {

/// Constants of a rank's machine that its actors need at every instruction.
struct RankTiming {
  double launch_to_start = 0;         ///< from the return of a launch call to the start on an idle stream, s
  double kernel_gap = 0;              ///< between two kernels that follow each other on a stream, s
  double host_factor = 1;             ///< host times are multiplied by it
  double gpu_factor = 1;              ///< kernel times likewise (stragglers)
  std::uint32_t launch_queue = 1024;  ///< launches a stream holds that have not started
  int copy_engines = 1;               ///< per direction
  Interference interference;
  bool operator==(const RankTiming&) const = default;
};

/// One rank: its host threads and streams (the actors), its events, and what it knows of the outside.
/// Actors are numbered streams first, then threads; a set bit in `runnable_` means there may be something to
/// do.
class Rank {
 public:
  static constexpr std::size_t kMostActors = 64;

  Rank(std::uint32_t number, const RankAssignment& assignment, const CompiledProgram& program,
       RunContext& context, const RankTiming& timing);

  /// Lets actors run until none can go on without news from outside.
  void run();

  /// Asks the processor for the memory that run() will touch first: with many ranks it is not in the caches.
  void prefetch() const;

  /// One actor, as far as it can go.
  void advance(unsigned actor);
  [[nodiscard]] unsigned actors() const { return static_cast<unsigned>(streams_.size() + threads_.size()); }
  [[nodiscard]] bool may_advance(unsigned actor) const { return (runnable_ >> actor & 1U) != 0; }
  [[nodiscard]] bool finished(unsigned actor) const;
  [[nodiscard]] bool finished() const;

  void wake(unsigned actor) {
    runnable_ |= 1ULL << actor;
    if (context_->actors_in_simgrid) {
      context_->surroundings->resume(*this, actor);
    }
  }
  void wake_all(std::uint64_t actors);
  void wake_stream(std::uint8_t stream) { wake(stream); }
  void wake_thread(std::uint8_t thread) { wake(static_cast<unsigned>(streams_.size()) + thread); }
  [[nodiscard]] unsigned actor_of_thread(std::uint8_t thread) const {
    return static_cast<unsigned>(streams_.size()) + thread;
  }

  // Accessors for what actors read and write.
  [[nodiscard]] std::uint32_t number() const { return number_; }
  [[nodiscard]] const RankAssignment& assignment() const { return *assignment_; }
  [[nodiscard]] const Program& program() const { return *program_->program; }
  [[nodiscard]] RunContext& context() { return *context_; }
  [[nodiscard]] const RankTiming& timing() const { return *timing_; }
  [[nodiscard]] EventPool& events() { return events_; }
  [[nodiscard]] std::vector<Stream>& streams() { return streams_; }
  [[nodiscard]] const std::vector<Stream>& streams() const { return streams_; }
  [[nodiscard]] const std::vector<HostThread>& threads() const { return threads_; }
  [[nodiscard]] const Instruction& instruction_of(const StreamItem& item) const {
    return program_->code[item.thread()][item.instruction()];
  }
  [[nodiscard]] std::uint32_t kernel_of(const Instruction& launch) const {
    return launch.per_rank ? assignment_->kernel_slots[launch.operand] : launch.operand;
  }
  [[nodiscard]] const CollectiveCall& call_of(const Instruction& launch) const {
    return program().collectives[collective_of(launch)];
  }
  [[nodiscard]] std::uint32_t collective_of(const Instruction& launch) const {
    return launch.per_rank ? assignment_->collective_slots[launch.operand] : launch.operand;
  }
  /// The timing of a launch that computes; null: something else.
  [[nodiscard]] const KernelTiming* compute_kernel_of(const Instruction& instruction) const {
    if (instruction.op != Opcode::Launch) {
      return nullptr;
    }
    const KernelTiming& timing = timing_of(kernel_of(instruction));
    return timing.kind == KernelTiming::Kind::Compute ? &timing : nullptr;
  }
  [[nodiscard]] const KernelTiming& timing_of(std::uint32_t kernel) const {
    return program_->kernels[kernel];
  }
  [[nodiscard]] const double* kernel_seconds() const { return program_->kernel_seconds.data(); }
  /// The variation of kernels and host work in one step.
  [[nodiscard]] Variation::Row variation(std::uint32_t step) const {
    return context_->variation->row(number_, step);
  }
  /// CompiledProgram::rows of an instruction of @p thread.
  [[nodiscard]] std::uint32_t row(std::uint8_t thread, std::uint32_t instruction) const {
    return program_->rows[thread][instruction];
  }
  [[nodiscard]] std::uint32_t next_correlation() { return ++correlation_; }
  void skip_correlations(std::uint32_t count) { correlation_ += count; }

  /// The latest record of an event.
  [[nodiscard]] Recorded& latest(std::uint32_t event) { return latest_[event]; }
  /// When and why it happened; only if it did when it was issued.
  [[nodiscard]] Occurrence occurrence_at_once(std::uint32_t event) const {
    return {latest_[event].date(), log ? log->event_causes[event] : Cause{}};
  }

  /// A host flag. Each thread that ever awaits it has all posts to itself, those that it has not taken yet.
  struct Flag {
    struct Post {
      double date = 0;
      std::uint8_t thread = 0;
      std::uint32_t instruction = 0;
    };
    struct Inbox {
      std::uint8_t thread = 0;
      Ring<Post> posts;
    };
    std::vector<Inbox> inboxes;
    std::uint64_t waiters = 0;

    [[nodiscard]] Ring<Post>& posts_for(std::uint8_t thread);  ///< a new inbox when it has none yet
  };
  [[nodiscard]] Flag& flag(std::uint32_t flag) { return flags_[flag]; }

  /// Whether a thread may pause before an instruction until the blocked stream that it uses goes on.
  [[nodiscard]] bool may_pause(std::uint8_t thread, std::uint32_t instruction) const {
    return runs_at_once() && program_->pauses[thread].allow(instruction);
  }

  /// The group of a collective call and the rank's position in it.
  [[nodiscard]] Membership membership(const CollectiveCall& call);
  void join(std::vector<Membership> memberships) { memberships_ = std::move(memberships); }
  /// Memberships in the order of Program::groups; sends and receives have their own.
  [[nodiscard]] const std::vector<Membership>& memberships() const { return memberships_; }

  /// Communication kernels on this GPU, for interference.
  void communication_arrives(double now, const CollectiveCall& call, const Communicator& group);
  void communication_transfers(double now, const CollectiveCall& call);
  void communication_ends(double now, const CollectiveCall& call);
  [[nodiscard]] double slowdown() const { return slowdown_; }

  // Stepped mode: dates of this rank. While no communication kernel lives on its GPU and no copy is under
  // way, nobody else can change what it does: it goes through its dates ahead of global time (docs/adr/0001).

  /// Goes to @p date at once where nothing of this rank happens before. @return whether it has
  bool skip_to(double date) {
    const bool nothing_comes_first = own_ticks_ == 0 && runnable_ == 0 && is_ahead_of_global_time();
    own_now_ = nothing_comes_first ? date : own_now_;
    return nothing_comes_first;
  }
  /// Asks for Stream::tick() at @p date, Stream::due().
  void call_at(std::uint8_t stream, double date);
  /// Global time has reached @p date, asked for by RankEnvironment::call_at(). @return whether it is still
  /// wanted
  bool tick(std::uint8_t stream, double date);
  /// The date up to which everything has happened that concerns this rank.
  [[nodiscard]] double now() const { return std::max(own_now_, context_->surroundings->now()); }
  void copy_begins() {
    ++copies_;
    join_global_time();
  }
  void copy_ends() {
    --copies_;
    leave_global_time();
  }

  /// `rank3.main`, `rank3.compute`
  [[nodiscard]] std::string actor_name(unsigned actor) const;

  /// Whether anyone wants to know more than totals: a timeline, a log or a meter. One test in the common
  /// case that nobody does.
  [[nodiscard]] bool is_observed() const { return observed_; }
  /// Whether every single kernel and call matters: for a timeline, or the log of this step.
  [[nodiscard]] bool is_watched(std::uint32_t step) const {
    return observed_ && (context_->timeline != nullptr || (log && step == log->step));
  }
  [[nodiscard]] bool is_stepped() const { return context_->stepped; }
  /// Whether a host thread may do a stream's work when the stream waits for nothing.
  [[nodiscard]] bool runs_at_once() const { return !context_->stepped && !context_->actors_in_simgrid; }
  void record_step(std::uint32_t step);
  void disturb(std::unique_ptr<RankNoise> noise) { threads_.front().disturb(std::move(noise)); }
  void meter_activity();
  std::unique_ptr<RankLog> log;             ///< of one step; null: not recorded
  std::unique_ptr<ActivityMeter> activity;  ///< null: not metered
  /// Adds up what is certain so far.
  void sweep_activity();
  /// No work of this rank that starts before this date is still unknown.
  [[nodiscard]] double watermark() const;

 private:
  void run_actors();
  [[nodiscard]] bool is_ahead_of_global_time() const {
    return communication_.empty() && copies_ == 0 && !context_->actors_in_simgrid;
  }
  void join_global_time();
  void leave_global_time() {
    if (is_ahead_of_global_time()) {
      own_ticks_ |= std::exchange(global_ticks_, 0);
    }
  }
  [[nodiscard]] std::uint8_t next_own_tick() const;
  void set_slowdown(double now);
  [[nodiscard]] int held_sms(bool transferring) const;
  void give_inboxes();

  std::uint32_t number_;
  const RankAssignment* assignment_;
  const CompiledProgram* program_;
  RunContext* context_;
  const RankTiming* timing_;
  std::vector<Stream> streams_;
  std::vector<HostThread> threads_;
  EventPool events_;
  std::vector<Recorded> latest_;  // by event
  std::vector<Flag> flags_;
  std::vector<Membership> memberships_;  // by Program::groups
  std::vector<std::pair<const CollectiveCall*, Membership>> pairs_;
  std::uint64_t runnable_ = 0;
  bool observed_;
  std::uint32_t correlation_ = 0;
  /// The same whether other ranks are simulated or folded into this one (docs/adr/0010): a call's own words.
  struct CommunicationChannel {
    std::uint32_t group;
    CollectiveKind kind;  ///< of what is between two; else all are one
    std::int32_t peer;
    bool operator==(const CommunicationChannel&) const = default;
  };
  [[nodiscard]] static CommunicationChannel channel_of(const CollectiveCall& call);
  /// A communication kernel that lives, and its SMs.
  struct LivingCommunication {
    CommunicationChannel channel;
    int sms;
    bool transfers;
  };
  std::vector<LivingCommunication> communication_;
  double slowdown_ = 1;
  std::uint64_t own_ticks_ = 0;     // streams that wait for their due(), ahead of global time
  std::uint64_t global_ticks_ = 0;  // streams that wait for it in global time
  std::uint32_t copies_ = 0;        // under way
  double own_now_ = 0;              // of the latest of the own ticks
};

}  // namespace lockstep
