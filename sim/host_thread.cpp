#include "sim/host_thread.hpp"

#include <algorithm>
#include <span>
#include <utility>

#include "sim/communicator.hpp"
#include "sim/rank.hpp"

namespace lockstep {
namespace {

// Items on a stream before the stream gets its turn: enough to amortise the change of actors, few enough
// to stay in the first-level cache.
constexpr std::size_t kBatch = 8;

}  // namespace
inline std::uint32_t HostThread::where() const {
  return static_cast<std::uint32_t>(self_) << StreamItem::kThreadShift | next_;
}

inline void HostThread::spend(float seconds) {
  clock_ += static_cast<double>(seconds) * factor_;
}

inline void HostThread::show(Rank& rank, SpanKind kind, double start, std::uint32_t correlation,
                             std::uint8_t stream) {
  if (rank.is_observed()) {
    add_span(rank, kind, start, correlation, stream);
  }
}

/// Whether the stream's backlog is too long to add to.
inline bool HostThread::must_pause(Rank& rank, std::uint8_t stream) {
  return rank.streams()[stream].backlog() >= kBatch && pauses(rank, stream);
}

/// A stream that can go on gets its turn first; for one that is blocked the thread waits where nothing
/// depends on that.
bool HostThread::pauses(Rank& rank, std::uint8_t stream) {
  Stream& target = rank.streams()[stream];
  const unsigned me = rank.actor_of_thread(self_);
  if (!target.blocked()) {
    rank.wake_stream(stream);
    rank.wake(me);
    return true;
  }
  if (!rank.may_pause(self_, next_, stream)) {
    return false;
  }
  target.let_know(me);
  return true;
}

/// A stream that waits for nothing takes it at once; that saves a change of actors.
inline void HostThread::put(Rank& rank, std::uint8_t stream, std::uint32_t ticket) {
  Stream& target = rank.streams()[stream];
  if (target.push({clock_, where(), ticket})) {
    rank.runs_at_once() ? target.advance(rank, stream) : rank.wake_stream(stream);
  }
}

void HostThread::issue_collective(Rank& rank, const Instruction& instruction) {
  const Membership member = rank.membership(rank.call_of(instruction));
  rank.collective_numbers(instruction.stream).push(member.group->issue(member.position));
}

inline HostThread::Outcome HostThread::launch(Rank& rank, const Instruction& instruction) {
  if (!begun_) {
    if (must_pause(rank, instruction.stream)) {
      return Outcome::Stop;
    }
    spend(instruction.lead);
    wait_start_ = clock_;
    begun_ = true;
  }
  Stream& stream = rank.streams()[instruction.stream];
  double admitted = clock_;
  if (!stream.admit(admitted, rank.timing().launch_queue)) {
    stream.let_know(rank.actor_of_thread(self_));
    return Outcome::Stop;
  }
  if (admitted > clock_) {
    held_up(rank, admitted, {Cause::Kind::Stream, instruction.stream, RankLog::kNoEntry});
  }
  spend(instruction.cost);
  if (instruction.op == Opcode::Collective) {
    issue_collective(rank, instruction);
  }
  const std::uint32_t correlation = rank.next_correlation();
  show(rank, SpanKind::Runtime, wait_start_, correlation, instruction.stream);
  put(rank, instruction.stream, correlation);
  return Outcome::Done;
}

inline HostThread::Outcome HostThread::execute(Rank& rank, const Instruction& instruction) {
  switch (instruction.op) {
    case Opcode::Launch:
    case Opcode::Collective:
      return launch(rank, instruction);
    case Opcode::WaitEvent:
    case Opcode::WaitStream:
    case Opcode::WaitDevice:
      return wait(rank, instruction);
    case Opcode::Await:
      return await(rank, instruction);
    case Opcode::RecordEvent:
    case Opcode::StreamWait:
      if (must_pause(rank, instruction.stream)) {
        return Outcome::Stop;
      }
      instruction.op == Opcode::RecordEvent ? record(rank, instruction) : stream_wait(rank, instruction);
      return Outcome::Done;
    case Opcode::HostWork:
      work(rank, instruction);
      return Outcome::Done;
    case Opcode::RangeBegin:
      spend(instruction.lead);
      open_range();
      spend(instruction.cost);
      return Outcome::Done;
    case Opcode::RangeEnd:
      spend(instruction.lead);
      spend(instruction.cost);
      close_range(rank);
      return Outcome::Done;
    case Opcode::Post:
      post(rank, instruction);
      return Outcome::Done;
  }
  return Outcome::Done;
}

void HostThread::advance(Rank& rank) {
  while (!done_ && advance_in_step(rank)) {
    end_step(rank);
  }
}

/// Launches on a stream that waits for nothing, one after the other as long as they are compute kernels:
/// the same as launch() and Stream::launch() for each, with the state of both actors in registers.
/// @return whether there was one; then the last is the current instruction
bool HostThread::launch_in_a_row(Rank& rank, std::span<const Instruction> instructions,
                                 Jitter::Row host_factors) {
  const std::uint8_t on = instructions[next_].stream;
  Stream& stream = rank.streams()[on];
  if (begun_ || !stream.idle()) {
    return false;
  }
  const RankTiming timing = rank.timing();
  const Jitter::Row kernel_factors = rank.kernel_factors(stream.step());
  const std::size_t most =
      std::min<std::size_t>(stream.starts_in_a_row(clock_, timing.launch_queue), instructions.size() - next_);
  const std::uint32_t first = where();
  StreamProgress progress = stream.progress();
  double clock = clock_;
  std::uint32_t count = 0;
  for (; count < most; ++count) {
    const Instruction& instruction = instructions[next_ + count];
    const KernelTiming* kernel = rank.compute_kernel_of(instruction);
    if (kernel == nullptr || instruction.stream != on) {
      break;
    }
    const double factor = timing.host_factor * host_factors.factor(first + count);
    clock += static_cast<double>(instruction.lead) * factor;
    clock += static_cast<double>(instruction.cost) * factor;
    const double start = std::max(progress.clock + timing.kernel_gap, clock + timing.launch_to_start);
    progress.compute_kernel(
        start, start + kernel->seconds * (timing.gpu_factor * kernel_factors.factor(first + count)));
    stream.start_in_a_row(count) = start;
  }
  if (count == 0) {
    return false;
  }
  stream.started_in_a_row(count, progress);
  rank.skip_correlations(count);
  clock_ = clock;
  next_ += count - 1;
  return true;
}

/// Executes what is left of the step. False: it has to stop before the end.
bool HostThread::advance_in_step(Rank& rank) {
  const std::span<const Instruction> instructions = rank.program().threads[self_].instructions;
  const Jitter::Row factors = rank.host_factors(step_);
  const bool in_a_row = rank.runs_at_once() && !rank.is_observed();
  if (next_ == 0 && !begun_) {
    begin_step(rank);
  }
  for (; next_ < instructions.size(); ++next_) {
    if (instructions[next_].op == Opcode::Launch && in_a_row &&
        launch_in_a_row(rank, instructions, factors)) {
      continue;  // with what comes after
    }
    if (!begun_) {
      factor_ = rank.timing().host_factor * factors.factor(where());
    }
    if (execute(rank, instructions[next_]) == Outcome::Stop) {
      return false;
    }
    if (rank.is_observed()) {
      log_end(rank);
    }
    begun_ = false;
  }
  return true;
}

void HostThread::work(Rank& rank, const Instruction& instruction) {
  spend(instruction.lead);
  const double start = clock_;
  spend(instruction.cost);
  show(rank, SpanKind::HostWork, start, 0, 0);
}

void HostThread::record(Rank& rank, const Instruction& instruction) {
  spend(instruction.lead);
  const double start = clock_;
  spend(instruction.cost);
  EventPool& events = rank.events();
  EventSlot& latest = rank.latest(instruction.operand);
  if (latest != EventPool::kNone) {
    events.release(latest);
  }
  latest = events.acquire(2);  // the stream's and the event's own
  put(rank, instruction.stream, latest);
  events.expect_on(latest, instruction.stream);
  show(rank, SpanKind::Runtime, start, 0, instruction.stream);
}

void HostThread::stream_wait(Rank& rank, const Instruction& instruction) {
  spend(instruction.lead);
  const double start = clock_;
  spend(instruction.cost);
  const EventSlot latest = rank.latest(instruction.operand);
  if (latest != EventPool::kNone) {  // CUDA: an event that was never recorded holds nothing up
    rank.events().hold(latest);
    put(rank, instruction.stream, latest);
  }
  show(rank, SpanKind::Runtime, start, 0, instruction.stream);
}

/// Waiting for a stream is waiting for an event recorded there now; for the device, on all streams.
void HostThread::begin_wait(Rank& rank, const Instruction& instruction) {
  begun_ = true;
  spend(instruction.lead);
  wait_start_ = clock_;
  EventPool& events = rank.events();
  if (instruction.op == Opcode::WaitEvent) {
    const EventSlot latest = rank.latest(instruction.operand);
    if (latest != EventPool::kNone) {
      events.hold(latest);
      awaited_.push_back(latest);
    }
    return;
  }
  const bool all = instruction.op == Opcode::WaitDevice;
  const auto first = all ? std::uint8_t{0} : instruction.stream;
  const auto last = all ? static_cast<std::uint8_t>(rank.streams().size() - 1) : instruction.stream;
  for (std::uint8_t stream = first; !rank.streams().empty() && stream <= last; ++stream) {
    const EventSlot slot = events.acquire(2);
    events.expect_on(slot, stream);
    awaited_.push_back(slot);
    put(rank, stream, slot);
  }
}

HostThread::Outcome HostThread::wait(Rank& rank, const Instruction& instruction) {
  if (!begun_) {
    begin_wait(rank, instruction);
  }
  EventPool& events = rank.events();
  while (!awaited_.empty()) {
    const EventSlot slot = awaited_.back();
    if (!events.happened(slot)) {
      events.wake_when_happened(slot, rank.actor_of_thread(self_));
      return Outcome::Stop;
    }
    if (events.date(slot) > clock_) {
      held_up(rank, events.date(slot), events.cause(slot));
    }
    events.release(slot);
    awaited_.pop_back();
  }
  spend(instruction.cost);
  show(rank, SpanKind::HostWait, wait_start_, 0, instruction.stream);
  return Outcome::Done;
}

void HostThread::held_up(Rank& rank, double until, const Cause& cause) {
  if (rank.log && step_ == rank.log->step) {
    auto& waits = rank.log->waits[self_];
    if (!waits.empty() && waits.back().instruction == next_) {
      waits.pop_back();  // a wait for several streams: the last that ends counts
    }
    waits.push_back({next_, cause, until});
  }
  blocked_ += until - clock_;
  clock_ = until;
}

void HostThread::post(Rank& rank, const Instruction& instruction) {
  spend(instruction.lead);
  spend(instruction.cost);
  Rank::Flag& flag = rank.flag(instruction.operand);
  for (Rank::Flag::Inbox& inbox : flag.inboxes) {
    inbox.posts.push({clock_, self_, next_});
  }
  rank.wake_all(std::exchange(flag.waiters, 0));
}

HostThread::Outcome HostThread::await(Rank& rank, const Instruction& instruction) {
  if (!begun_) {
    begun_ = true;
    spend(instruction.lead);
    wait_start_ = clock_;
  }
  Rank::Flag& flag = rank.flag(instruction.operand);
  Ring<Rank::Flag::Post>& posts = flag.posts_for(self_);
  if (posts.empty()) {
    flag.waiters |= 1ULL << rank.actor_of_thread(self_);
    return Outcome::Stop;
  }
  const Rank::Flag::Post post = posts.front();
  posts.pop();
  if (post.date > clock_) {
    held_up(rank, post.date, {Cause::Kind::Host, post.thread, post.instruction});
  }
  spend(instruction.cost);
  show(rank, SpanKind::HostWait, wait_start_, 0, 0);
  return Outcome::Done;
}

void HostThread::log_end(Rank& rank) const {
  if (rank.log && step_ == rank.log->step) {
    rank.log->instruction_ends[self_][next_] = clock_;
  }
}

void HostThread::begin_step(Rank& rank) {
  if (rank.log && step_ == rank.log->step) {
    rank.log->thread_starts[self_] = clock_;
  }
}

/// The first thread marks the end of the step on every stream.
void HostThread::end_step(Rank& rank) {
  if (self_ == 0) {
    for (std::size_t stream = 0; stream < rank.streams().size(); ++stream) {
      rank.streams()[stream].push({clock_, StreamItem::kStepEnd, step_});
      rank.wake_stream(static_cast<std::uint8_t>(stream));
    }
  }
  double& end = rank.context().step_ends[step_];
  end = std::max(end, clock_);
  next_ = 0;
  done_ = ++step_ == rank.context().steps;
}

}  // namespace lockstep
