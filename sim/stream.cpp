#include "sim/stream.hpp"

#include <algorithm>
#include <cassert>
#include <utility>

#include "sim/rank.hpp"

namespace lockstep {
namespace {

TimelineSpan span_of(const Rank& rank, std::uint8_t stream, const StreamItem& item, std::uint32_t step) {
  TimelineSpan span;
  span.rank = rank.number();
  span.instruction = item.instruction();
  span.correlation = item.ticket;
  span.step = step;
  span.kind = SpanKind::Kernel;
  span.thread = item.thread();
  span.stream = stream;
  return span;
}

}  // namespace

/// The compute kernels at the head of the queue, as launch() would run each, with the state in registers.
/// Nobody watches or steps. @return whether there was one
bool Stream::run_in_a_row(Rank& rank, std::uint8_t self) {
  const RankTiming& timing = rank.timing();
  ActivityMeter* const meter = rank.activity.get();
  const std::uint32_t most = launches_ == 0 || lag_.is_pending ? 0 : queue_.size();
  StreamProgress progress = progress_;
  std::uint32_t count = 0;
  for (; count < most; ++count) {
    const StreamItem& item = queue_.ahead(count);
    if (!item.computes()) {
      break;
    }
    const double start = std::max(progress.clock + timing.kernel_gap, item.issue + timing.launch_to_start);
    const double end = start + item.value;
    progress.compute_kernel(start, end);
    if (meter != nullptr) {
      meter->compute(self, start, end);
    }
    if (launch_queue_) {
      launch_queue_->starts_at(start);
    }
  }
  queue_.pop(count);
  launched_in_a_row(count, progress);
  return count > 0;
}

void Stream::advance(Rank& rank, std::uint8_t self) {
  if (state_ != State::Ready && state_ != State::AwaitsEvent) {
    return;  // complete() or tick() goes on
  }
  state_ = State::Ready;
  bool in_a_row = !rank.is_watched(step_) && !rank.is_stepped();
  while (state_ == State::Ready && !queue_.empty()) {
    const StreamItem& item = queue_.front();
    if (item.where == StreamItem::kStepEnd) {
      end_step(rank, self, item.ticket);
      in_a_row = !rank.is_watched(step_) && !rank.is_stepped();
      queue_.pop();
      continue;
    }
    const Instruction& instruction = rank.instruction_of(item);
    switch (instruction.op) {
      case Opcode::Launch:
        if (!in_a_row || !run_in_a_row(rank, self)) {
          launch(rank, self, item, instruction);
        }
        break;
      case Opcode::Collective:
        launch(rank, self, item, instruction);
        break;
      case Opcode::StreamWait:
        if (wait_for_event(rank, self, item.ticket)) {
          queue_.pop();
        }
        break;
      case Opcode::StartLag:
        lag_ = {instruction.lead, instruction.cost, true};
        queue_.pop();
        break;
      default:  // a record, or the record that a host wait makes
        record(rank, self, item);
        queue_.pop();
    }
  }
  if (listeners_ != 0) {
    rank.wake_all(std::exchange(listeners_, 0));
  }
}

Occurrence Stream::reach_record(Rank& rank, std::uint8_t self, const StreamItem& item) {
  const bool by_host = item.issue > progress_.clock;
  progress_.clock = std::max(progress_.clock, item.issue);
  return {progress_.clock, cause_of_record(rank, self, item, by_host)};
}

void Stream::record(Rank& rank, std::uint8_t self, const StreamItem& item) {
  const EventSlot slot = item.ticket;  // who is woken may put more on this stream, which moves its items
  rank.wake_all(rank.events().happen(slot, reach_record(rank, self, item)));
  rank.events().release(slot);
}

/// Why a record happens now: the host came to it only now, or the work before it has ended.
Cause Stream::cause_of_record(const Rank& rank, std::uint8_t self, const StreamItem& item,
                              bool by_host) const {
  if (!rank.log || step_ != rank.log->step) {
    return {Cause::Kind::Stream, self, RankLog::kNoEntry};
  }
  if (by_host) {
    return {Cause::Kind::Host, item.thread(), item.instruction()};
  }
  const RankLog::Lane& lane = rank.log->streams[self];
  return lane.raised_by.kind != Cause::Kind::None ? lane.raised_by
                                                  : Cause{Cause::Kind::Stream, self, lane.latest()};
}

bool Stream::wait_for_event(Rank& rank, std::uint8_t self, EventSlot slot) {
  EventPool& events = rank.events();
  if (!events.happened(slot)) {
    events.wake_when_happened(slot, self);
    state_ = State::AwaitsEvent;
    return false;
  }
  wait_until(rank, self, events.occurrence(slot));
  events.release(slot);
  return true;
}

void Stream::wait_until(Rank& rank, std::uint8_t self, const Occurrence& occurrence) {
  if (rank.log && occurrence.date > progress_.clock) {
    rank.log->streams[self].raised_by = occurrence.cause;
  }
  progress_.clock = std::max(progress_.clock, occurrence.date);
}

/// Stepped mode: work may only begin when its time has come, because what overlaps with it is not known
/// earlier.
bool Stream::must_wait_until(Rank& rank, std::uint8_t self, double start) {
  if (start <= due_) {
    return false;
  }
  due_ = start;
  if (listeners_ == 0 && rank.skip_to(start)) {
    return false;
  }
  state_ = State::Timed;
  rank.call_at(self, start);
  return true;
}

/// Not before the launch has reached the GPU, nor before the work ahead of it has ended.
double Stream::start_of(const RankTiming& timing, const StreamItem& item) const {
  const double free =
      launches_ == 0 ? progress_.clock : progress_.clock + (timing.kernel_gap + lag_.after_work);
  return std::max(free, item.issue + (timing.launch_to_start + lag_.after_launch));
}

void Stream::begin(Rank& rank, std::uint8_t self, const StreamItem& item) {
  start_ = start_of(rank.timing(), item);
  if (rank.is_observed()) {
    log_start(rank, self, item);
  }
  lag_ = {};
  ++launches_;
  if (launch_queue_) {
    launch_queue_->starts_at(start_);
  }
}

inline void Stream::launch(Rank& rank, std::uint8_t self, const StreamItem& item,
                           const Instruction& instruction) {
  if (rank.is_stepped()) {
    if (item.computes()) {
      begin_row(rank, self);
      return;
    }
    if (must_wait_until(rank, self, start_of(rank.timing(), item))) {
      return;
    }
  }
  begin(rank, self, item);
  if (instruction.op == Opcode::Collective) {
    begin_collective(rank, self, item);
    return;
  }
  const std::uint32_t kernel = rank.kernel_of(instruction);
  const KernelTiming& timing = rank.timing_of(kernel);
  if (timing.crosses_links()) {
    begin_copy(rank, self, kernel);
    return;
  }
  end_compute(rank, self, item, start_ + item.value);
  queue_.pop();
}

void Stream::begin_collective(Rank& rank, std::uint8_t self, const StreamItem& item) {
  state_ = State::InCollective;
  rank.context().surroundings->arrive(rank, self, item, start_);
}

void Stream::begin_copy(Rank& rank, std::uint8_t self, std::uint32_t kernel) {
  state_ = State::InCopy;
  rank.copy_begins();
  rank.context().surroundings->copy(rank, self, kernel, start_);
}

/// Whether an item that crosses links is a copy; false: a kernel that reads or writes host memory.
bool Stream::copies(const Rank& rank, const StreamItem& item) {
  return rank.timing_of(rank.kernel_of(rank.instruction_of(item))).kind == KernelTiming::Kind::Transfer;
}

void Stream::log_start(Rank& rank, std::uint8_t self, const StreamItem& item) {
  if (!rank.log || step_ != rank.log->step) {
    return;
  }
  rank.log->streams[self]
      .begin(self, item, start_, rank.timing().launch_to_start + lag_.after_launch)
      .free_since = progress_.clock;
}

void Stream::end_compute(Rank& rank, std::uint8_t self, const StreamItem& item, double end) {
  progress_.compute_kernel(start_, end);
  if (rank.is_observed()) {
    note_compute(rank, self, item, end);
  }
}

void Stream::note_compute(Rank& rank, std::uint8_t self, const StreamItem& item, double end) {
  if (rank.activity) {
    rank.activity->compute(self, start_, end);
  }
  if (TimelineBuffer* timeline = rank.context().timeline) {
    TimelineSpan span = span_of(rank, self, item, step_);
    span.start = span.transfer_start = start_;
    span.end = end;
    timeline->add(span);
  }
  if (rank.log && step_ == rank.log->step) {
    rank.log->streams[self].entries.back().end = end;
  }
}

void Stream::tick(Rank& rank, std::uint8_t self) {
  if (state_ == State::Running) {
    end_row(rank, self);
  } else if (state_ == State::Timed) {
    state_ = State::Ready;
    rank.wake_stream(self);
  }
}

void Stream::complete(Rank& rank, std::uint8_t self, double date, const Rendezvous& rendezvous) {
  assert(state_ == State::InCollective || state_ == State::InCopy);
  if (state_ == State::InCollective) {
    totals_.waiting += rendezvous.met - start_;
    totals_.transfer += date - rendezvous.met;
  } else {
    rank.copy_ends();
    start_ = rendezvous.met;  // until then it waited for a copy engine: that is no copying
    (copies(rank, queue_.front()) ? totals_.copy : progress_.compute) += date - start_;
  }
  if (rank.is_observed()) {
    note_completion(rank, self, date, rendezvous);
  }
  progress_.work(start_, date);
  due_ = date;
  state_ = State::Ready;
  queue_.pop();
  rank.wake_stream(self);
}

void Stream::note_completion(Rank& rank, std::uint8_t self, double end, const Rendezvous& rendezvous) {
  const StreamItem& item = queue_.front();
  const bool is_collective = state_ == State::InCollective;
  if (rank.activity && is_collective) {
    rank.activity->collective(self, rank.call_of(rank.instruction_of(item)).kind, start_, rendezvous.met,
                              end);
  } else if (rank.activity && copies(rank, item)) {
    rank.activity->copy(self, start_, end);
  } else if (rank.activity) {
    rank.activity->compute(self, start_, end);
  }
  if (TimelineBuffer* timeline = rank.context().timeline) {
    TimelineSpan span = span_of(rank, self, item, step_);
    span.kind = is_collective ? SpanKind::Collective : SpanKind::Kernel;
    span.start = start_;
    span.transfer_start = is_collective ? rendezvous.met : start_;
    span.end = end;
    timeline->add(span);
  }
  if (rank.log && step_ == rank.log->step) {
    RankLog::Lane& lane = rank.log->streams[self];
    lane.entries.back().end = end;
    lane.entries.back().meeting = static_cast<std::uint32_t>(lane.meetings.size());
    lane.meetings.push_back(rendezvous);
  }
}

void Stream::end_step(Rank& rank, std::uint8_t self, std::uint32_t step) {
  double& end = rank.context().step_ends[step];
  end = std::max(end, progress_.clock);
  step_ = step + 1;
  if (rank.log && step_ == rank.log->step) {
    rank.log->streams[self].launched_before = static_cast<std::uint32_t>(launches_);
  }
}

}  // namespace lockstep
