#include "sim/rank_rerun.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "sim/executor.hpp"

namespace lockstep {
namespace {

RunContext context_of(const Executor& executor, RankEnvironment& surroundings) {
  RunContext context;
  context.surroundings = &surroundings;
  context.variation = executor.context().variation;
  context.stepped = executor.context().stepped;
  context.steps = executor.context().steps;
  context.step_ends.assign(context.steps, 0.0);
  return context;
}

}  // namespace

RankRerun::RankRerun(Executor& executor, std::uint32_t number)
    : executor_{executor},
      context_{context_of(executor, *this)},
      rank_{number, executor.job().ranks[number], executor.compiled_of(number), context_,
            executor.timing_of(number)},
      copies_done_(rank_.streams().size(), 0) {
  rank_.disturb(executor.spec().noise.of(number));
  std::vector<Membership> memberships;
  for (const Membership& original : executor.rank_for(number).memberships()) {
    memberships.push_back(original.group == nullptr ? original : seat(original));
  }
  rank_.join(std::move(memberships));
  rank_.record_step(context_.steps - 1);
}

Membership RankRerun::seat(const Membership& original) {
  const auto known = std::find_if(seats_.begin(), seats_.end(), [&](const Seat& seat) {
    return seat.group == original.group && seat.position == original.position;
  });
  Seat& seat = known != seats_.end()
                   ? *known
                   : seats_.emplace_back(Seat{
                         original.group, original.position, {original.group->name(), {}, {rank_.number()}}});
  return {&seat.alone, 0};
}

Membership RankRerun::pair(const Rank& rank, const CollectiveCall& call) {
  return seat(executor_.pair(rank, call));
}

void RankRerun::run() {
  rank_.run();
  while (!heap_.empty()) {
    const Scheduled next = heap_.front();
    std::pop_heap(heap_.begin(), heap_.end());
    heap_.pop_back();
    now_ = next.date;
    happen(next);
    rank_.run();
  }
  if (!context_.stepped) {
    check();
  }
}

void RankRerun::check() const {
  const Rank& original = executor_.rank_for(rank_.number());
  for (std::size_t stream = 0; stream < rank_.streams().size(); ++stream) {
    if (rank_.streams()[stream].fingerprint() != original.streams()[stream].fingerprint()) {
      throw std::logic_error{fmt::format("{}, run again, differs from what it did",
                                         rank_.actor_name(static_cast<unsigned>(stream)))};
    }
  }
}

void RankRerun::schedule(double date, Moment what, std::uint8_t stream, const Rendezvous& rendezvous,
                         const CollectiveCall* call) {
  heap_.push_back({date, order_++, what, stream, rendezvous, call});
  std::push_heap(heap_.begin(), heap_.end());
}

void RankRerun::happen(const Scheduled& scheduled) {
  switch (scheduled.what) {
    case Moment::Met:
      rank_.communication_transfers(scheduled.date, *scheduled.call);
      break;
    case Moment::CollectiveEnd:
      rank_.communication_ends(scheduled.date, *scheduled.call);
      rank_.streams()[scheduled.stream].complete(rank_, scheduled.stream, scheduled.date,
                                                 scheduled.rendezvous);
      break;
    case Moment::CopyEnd:
      rank_.streams()[scheduled.stream].complete(rank_, scheduled.stream, scheduled.date,
                                                 scheduled.rendezvous);
      break;
    case Moment::StreamTick:
      rank_.tick(scheduled.stream, scheduled.date);
      break;
  }
}

void RankRerun::arrive(Rank& rank, std::uint8_t stream, const StreamItem& item, double date) {
  const CollectiveCall& call = rank.call_of(rank.instruction_of(item));
  const Membership member = rank.membership(call);
  const auto seat = std::find_if(seats_.begin(), seats_.end(),
                                 [&](const Seat& known) { return &known.alone == member.group; });
  const RendezvousRecord& record = seat->group->record(item.collective());
  rank.communication_arrives(date, call, *seat->group);
  if (context_.stepped) {
    schedule(record.rendezvous.met, Moment::Met, stream, {}, &call);
  }
  schedule(record.end, Moment::CollectiveEnd, stream, record.rendezvous, &call);
}

void RankRerun::copy(Rank& rank, std::uint8_t stream, std::uint32_t /*kernel*/, double /*date*/) {
  const RendezvousRecord& record = executor_.copies().records(rank.number(), stream)[copies_done_[stream]++];
  schedule(record.end, Moment::CopyEnd, stream, record.rendezvous);
}

void RankRerun::call_at(Rank& /*rank*/, std::uint8_t stream, double date) {
  schedule(date, Moment::StreamTick, stream);
}

}  // namespace lockstep
