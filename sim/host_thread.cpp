#include "sim/host_thread.hpp"

#include <algorithm>
#include <span>

#include "sim/communicator.hpp"
#include "sim/rank.hpp"

namespace lockstep {
namespace {

// Items on a stream that runs on its own before it gets its turn: enough to amortise the change of actors,
// few enough to stay in the first-level cache.
constexpr std::size_t kBatch = 8;

}  // namespace

HostSpans::Place HostThread::place(const Rank& rank) const {
  return {rank.number(), step_, next_, clock_};
}

inline void HostThread::show(Rank& rank, const HostSpans::Occupation& occupation) const {
  if (rank.is_observed()) {
    spans_.add(rank.context().timeline, place(rank), occupation);
  }
}

/// Whether the stream's backlog is too long to add to.
inline bool HostThread::must_pause(Rank& rank, std::uint8_t stream) {
  return rank.streams()[stream].backlog() > 0 && pauses(rank, stream);
}

/// A stream that can go on gets its turn first; for one that is blocked the thread waits where nothing
/// depends on that.
bool HostThread::pauses(Rank& rank, std::uint8_t stream) {
  Stream& target = rank.streams()[stream];
  const unsigned me = rank.actor_of_thread(self_);
  if (!target.blocked()) {
    if (target.backlog() < kBatch) {
      return false;
    }
    rank.wake_stream(stream);
    rank.wake(me);
    return true;
  }
  if (!rank.may_pause(self_, next_)) {
    return false;
  }
  target.let_know(me);
  return true;
}

/// A stream that waits for nothing takes it at once; that saves a change of actors.
inline void HostThread::put(Rank& rank, std::uint8_t stream, const StreamItem& item) {
  Stream& target = rank.streams()[stream];
  if (target.push(item)) {
    rank.runs_at_once() ? target.advance(rank, stream) : rank.wake_stream(stream);
  }
}

/// StreamItem::value of the current launch. The main thread counts the steps of streams.
inline double HostThread::value_of(Rank& rank, const Instruction& launch) const {
  if (launch.op == Opcode::Collective) {
    const Membership member = rank.membership(rank.call_of(launch));
    return StreamItem::of_collective(member.group->issue(member.position));
  }
  const KernelTiming* kernel = rank.compute_kernel_of(launch);
  if (kernel == nullptr) {
    return StreamItem::kNone;
  }
  const Variation::Row factors = rank.variation(rank.threads().front().step());
  return kernel->seconds * (rank.timing().gpu_factor * factors.kernel(factors.draw(where())));
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
  if (stream.launch_queue() != nullptr &&
      !stream.launch_queue()->admit(admitted, rank.timing().launch_queue)) {
    stream.let_know(rank.actor_of_thread(self_));
    if (rank.is_stepped() && stream.shorten_row(rank, instruction.stream)) {
      rank.wake(rank.actor_of_thread(self_));
    }
    return Outcome::Stop;
  }
  if (admitted > clock_) {
    held_up(rank, admitted, {Cause::Kind::Stream, instruction.stream, RankLog::kNoEntry});
  }
  spend(instruction.cost);
  const double value = value_of(rank, instruction);
  const std::uint32_t correlation = rank.next_correlation();
  show(rank, {SpanKind::Runtime, wait_start_, correlation, instruction.stream});
  put(rank, instruction.stream, {clock_, where(), correlation, value});
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
      spans_.open_range(rank.context().timeline, place(rank));
      spend(instruction.cost);
      return Outcome::Done;
    case Opcode::RangeEnd:
      spend(instruction.lead);
      spend(instruction.cost);
      spans_.close_range(rank.context().timeline, place(rank));
      return Outcome::Done;
    case Opcode::Post:
      post(rank, instruction);
      return Outcome::Done;
    case Opcode::StartLag:
      if (must_pause(rank, instruction.stream)) {
        return Outcome::Stop;
      }
      put(rank, instruction.stream, {clock_, where(), 0});
      return Outcome::Done;
  }
  return Outcome::Done;
}

void HostThread::advance(Rank& rank) {
  while (!done_ && advance_in_step(rank)) {
    end_step(rank);
  }
}

/// Executes what is left of the step. False: it has to stop before the end.
bool HostThread::advance_in_step(Rank& rank) {
  const std::span<const Instruction> instructions = rank.program().threads[self_].instructions;
  const Variation::Row variation = rank.variation(step_);
  const bool is_disturbed = noise_ != nullptr;
  const bool in_a_row = rank.runs_at_once() && rank.context().timeline == nullptr && !is_disturbed;
  const bool queues_rows =
      rank.is_stepped() && !rank.is_watched(step_) && !is_disturbed && rank.threads().front().step() == step_;
  if (next_ == 0 && !begun_) {
    begin_step(rank);
  }
  for (; next_ < instructions.size(); ++next_) {
    if (is_disturbed && !begun_) {
      suffer_noise(rank);
    }
    if (instructions[next_].op == Opcode::Launch &&
        ((in_a_row && launch_in_a_row(rank, instructions, variation)) ||
         (queues_rows && queue_in_a_row(rank, instructions, variation)))) {
      continue;  // with what comes after
    }
    if (!begun_) {
      factor_ = rank.timing().host_factor * variation.host(variation.draw(where()));
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
  show(rank, {SpanKind::HostWork, start});
}

void HostThread::record(Rank& rank, const Instruction& instruction) {
  spend(instruction.lead);
  const double start = clock_;
  spend(instruction.cost);
  Recorded& latest = rank.latest(instruction.operand);
  if (latest.was_queued()) {
    rank.events().release(latest.slot());
  }
  Stream& stream = rank.streams()[instruction.stream];
  if (rank.runs_at_once() && stream.idle()) {
    const Occurrence now = stream.record_at_once(rank, instruction.stream, clock_, where());
    latest = Recorded::at(now.date);
    if (rank.log) {
      rank.log->event_causes[instruction.operand] = now.cause;
    }
  } else {
    latest = Recorded::in(queue_record(rank, instruction.stream));
  }
  show(rank, {SpanKind::Runtime, start, 0, instruction.stream});
}

/// @return its event, held by the stream and by the caller
EventSlot HostThread::queue_record(Rank& rank, std::uint8_t stream) {
  const EventSlot slot = rank.events().acquire(2);
  rank.events().expect_on(slot, stream);
  put(rank, stream, {clock_, where(), slot});
  return slot;
}

void HostThread::stream_wait(Rank& rank, const Instruction& instruction) {
  spend(instruction.lead);
  const double start = clock_;
  spend(instruction.cost);
  const Recorded latest = rank.latest(instruction.operand);
  Stream& stream = rank.streams()[instruction.stream];
  EventPool& events = rank.events();
  if (latest.was_queued()) {
    events.hold(latest.slot());
    put(rank, instruction.stream, {clock_, where(), latest.slot()});
  } else if (latest.happened_at_once() && stream.idle()) {
    stream.wait_until(rank, instruction.stream, rank.occurrence_at_once(instruction.operand));
  } else if (latest.happened_at_once()) {
    const EventSlot slot = events.acquire(1);
    (void)events.happen(slot, rank.occurrence_at_once(instruction.operand));
    put(rank, instruction.stream, {clock_, where(), slot});
  }  // else as in CUDA: an event that was never recorded holds nothing up
  show(rank, {SpanKind::Runtime, start, 0, instruction.stream});
}

/// Interruptions that are due before the current instruction.
void HostThread::suffer_noise(Rank& rank) {
  while (const auto interruption = noise_->next(clock_, step_, next_ == 0)) {
    clock_ += interruption->duration;
    if (rank.is_observed()) {
      log_noise(rank, *interruption);
    }
  }
}

/// An interruption that has just passed.
void HostThread::log_noise(Rank& rank, const RankNoise::Interruption& interruption) const {
  if (rank.log && step_ == rank.log->step) {
    rank.log->noise.push_back({next_, interruption.source, interruption.duration});
  }
  spans_.add_noise(rank.context().timeline, place(rank), interruption.source, interruption.duration);
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
    for (std::size_t number = 0; number < rank.streams().size(); ++number) {
      Stream& stream = rank.streams()[number];
      if (rank.runs_at_once() && stream.idle()) {
        stream.end_step(rank, static_cast<std::uint8_t>(number), step_);
      } else {
        stream.push({clock_, StreamItem::kStepEnd, step_});
        rank.wake_stream(static_cast<std::uint8_t>(number));
      }
    }
  }
  double& end = rank.context().step_ends[step_];
  end = std::max(end, clock_);
  next_ = 0;
  done_ = ++step_ == rank.context().steps;
}

}  // namespace lockstep
