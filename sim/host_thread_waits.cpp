/// @file
/// Where a host thread blocks, and what lets it go on.

#include <algorithm>
#include <utility>

#include "sim/host_thread.hpp"
#include "sim/rank.hpp"

namespace lockstep {

/// Waiting for a stream is waiting for an event recorded there now; for the device, on all streams.
void HostThread::begin_wait(Rank& rank, const Instruction& instruction) {
  begun_ = true;
  spend(instruction.lead);
  wait_start_ = clock_;
  EventPool& events = rank.events();
  if (instruction.op == Opcode::WaitEvent) {
    const Recorded latest = rank.latest(instruction.operand);
    if (latest.was_queued()) {
      events.hold(latest.slot());
      awaited_.push_back(latest.slot());
    } else if (latest.happened_at_once()) {
      wait_until(rank, rank.occurrence_at_once(instruction.operand));
    }
    return;
  }
  const bool all = instruction.op == Opcode::WaitDevice;
  const auto first = all ? std::uint8_t{0} : instruction.stream;
  const auto last = all ? static_cast<std::uint8_t>(rank.streams().size() - 1) : instruction.stream;
  for (std::uint8_t stream = first; !rank.streams().empty() && stream <= last; ++stream) {
    awaited_.push_back(queue_record(rank, stream));
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
    wait_until(rank, events.occurrence(slot));
    events.release(slot);
    awaited_.pop_back();
  }
  spend(instruction.cost);
  spans_.add(rank.context().timeline, place(rank), {SpanKind::HostWait, wait_start_, 0, instruction.stream});
  return Outcome::Done;
}

void HostThread::wait_until(Rank& rank, const Occurrence& occurrence) {
  if (occurrence.date > clock_) {
    held_up(rank, occurrence.date, occurrence.cause);
  }
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
  spans_.add(rank.context().timeline, place(rank), {SpanKind::HostWait, wait_start_});
  return Outcome::Done;
}

}  // namespace lockstep
