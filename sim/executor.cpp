#include "sim/executor.hpp"

#include <algorithm>
#include <cassert>
#include <optional>

#include "sim/folding/folding.hpp"

namespace lockstep {
namespace {

// SimGrid's clock adds up differences; our dates are exact. What is due within this of the clock is due now.
constexpr double kClockSlack = 1e-12;

// Members of a collective whose state is fetched into the cache while another one runs.
constexpr std::size_t kPrefetchAhead = 3;

}  // namespace

Executor::Executor(const Job& job, ExecutorSpec spec, Network& network, TimelineSink* timeline)
    : job_{job}, spec_{std::move(spec)}, network_{network}, communicators_{job_, spec_}, copies_{spec_} {
  context_.surroundings = this;
  context_.variation = &spec_.variation;
  context_.stepped = spec_.stepped;
  context_.steps = static_cast<std::uint32_t>(job.steps);
  context_.step_ends.assign(context_.steps, 0.0);
  if (timeline != nullptr) {
    timeline_ = std::make_unique<TimelineBuffer>(*timeline);
    context_.timeline = timeline_.get();
  }
  make_ranks();
  communicators_.make(ranks_, network_);
  make_meters();
  prepare_copies();
}

Executor::~Executor() = default;

std::size_t Executor::index_of(std::uint32_t number) const {
  return spec_.folding == nullptr ? number : spec_.folding->class_of(number);
}

void Executor::make_ranks() {
  const auto make = [this](std::uint32_t number) {
    ranks_.emplace_back(number, job_.ranks[number], compiled_of(number), context_, timing_of(number));
    ranks_.back().disturb(spec_.noise.of(number));
  };
  if (spec_.folding != nullptr) {
    std::ranges::for_each(spec_.folding->representatives(), make);
    return;
  }
  for (std::uint32_t number = 0; number < job_.ranks.size(); ++number) {
    make(number);
  }
}

void Executor::make_meters() {
  for (const std::uint32_t number : spec_.metered_ranks) {
    Rank& rank = ranks_[index_of(number)];
    if (!rank.activity) {
      rank.meter_activity();
    }
  }
}

/// Networks compress what they know beforehand.
void Executor::prepare_copies() {
  for (const Rank& rank : ranks_) {
    const auto& kernels = compiled_of(rank.number()).kernels;
    for (std::uint32_t kernel = 0; kernel < kernels.size(); ++kernel) {
      if (kernels[kernel].crosses_links()) {
        network_.prepare(copies_.plan(rank, kernel).plan);
      }
    }
  }
}

void Executor::begin() {
  for (Rank& rank : ranks_) {
    rank.run();
  }
}

double Executor::next_date() {
  // Work that starts at the current date starts before rates are shared out for it.
  const double scheduled = agenda_.next();
  if (scheduled <= now_ && !network_.completes_by(now_)) {
    return scheduled;
  }
  return std::min(network_.next_completion(), scheduled);
}

void Executor::advance_to(double now) {
  const double due = now + kClockSlack;
  for (double date = next_date(); date <= due; date = next_date()) {
    assert(date >= now_ - kClockSlack && "something starts in the past");
    happen_next(date);
  }
}

/// @param date as next_date() says
void Executor::happen_next(double date) {
  now_ = std::max(now_, date);
  if (agenda_.next() > date || network_.completes_by(date)) {
    transfer_ended(network_.complete_next(), date);
  } else if (agenda_.is_tick_next()) {
    tick();
  } else {
    happen(agenda_.take_moment());
  }
}

void Executor::tick() {
  const Agenda::Tick next = agenda_.take_tick();
  if (next.rank->tick(next.stream, next.date)) {
    next.rank->run();
  }
}

/// No tick changes what the network carries, so its next completion stays.
void Executor::pass_ticks() {
  if (!network_.knows_completions()) {
    return;
  }
  std::optional<double> completion;
  while (agenda_.has_ticks()) {
    const double date = agenda_.next_tick();
    if (agenda_.next_moment() <= date) {
      return;
    }
    if (date <= now_) {
      if (network_.completes_by(date)) {
        return;
      }
    } else if (!completion) {
      completion = network_.next_completion();
    }
    if (completion && *completion <= date) {
      return;
    }
    now_ = std::max(now_, date);
    tick();
  }
}

void Executor::happen(const Agenda::Entry& entry) {
  switch (entry.what) {
    case Agenda::Moment::Meet: {
      const Transfer& transfer = transfers_[entry.subject];
      for (const Arrival& arrival : transfer.meeting->arrivals) {
        arrival.rank->communication_transfers(entry.date, *arrival.call);
      }
      agenda_.enter(entry.date + transfer.meeting->plan->latency.in_base_units(),
                    Agenda::Moment::TransferStart, entry.subject);
      break;
    }
    case Agenda::Moment::TransferStart: {
      const Transfer& transfer = transfers_[entry.subject];
      network_.start(entry.subject, *transfer.meeting->plan, transfer.group->gpus(), entry.date);
      break;
    }
    case Agenda::Moment::CopyReady: {
      if (copies_.take(transfers_[entry.subject].engine, entry.subject)) {
        begin_copy(entry.subject, {.met = entry.date});
      }
      break;
    }
  }
}

TransferId Executor::new_transfer(const Transfer& transfer) {
  if (free_transfers_.empty()) {
    transfers_.push_back(transfer);
    return static_cast<TransferId>(transfers_.size() - 1);
  }
  const TransferId id = free_transfers_.back();
  free_transfers_.pop_back();
  transfers_[id] = transfer;
  return id;
}

void Executor::arrive(Rank& rank, std::uint8_t stream, const StreamItem& item, double date) {
  const CollectiveCall& call = rank.call_of(rank.instruction_of(item));
  const Membership member = rank.membership(call);
  rank.communication_arrives(date, call, *member.group);
  const auto launch = static_cast<std::uint32_t>(rank.streams()[stream].launches() - 1);
  Meeting* meeting =
      member.group->arrive(member.position, item.collective(), {&rank, &call, date, launch, stream});
  if (meeting != nullptr) {
    meeting->plan = &member.group->plan(*meeting, spec_.plan_collective);
    Transfer transfer;
    transfer.group = member.group;
    transfer.meeting = meeting;
    const TransferId id = new_transfer(transfer);
    if (context_.stepped) {
      agenda_.enter(meeting->met, Agenda::Moment::Meet, id);
    } else {
      agenda_.enter(meeting->met + meeting->plan->latency.in_base_units(), Agenda::Moment::TransferStart, id);
    }
  }
}

void Executor::copy(Rank& rank, std::uint8_t stream, std::uint32_t kernel, double date) {
  Transfer transfer;
  transfer.rank = &rank;
  transfer.stream = stream;
  transfer.copy = &copies_.plan(rank, kernel);
  transfer.engine = copies_.engine_for(rank, kernel);
  agenda_.enter(date, Agenda::Moment::CopyReady, new_transfer(transfer));
}

void Executor::begin_copy(TransferId transfer, const Rendezvous& taken) {
  ++transfers_[transfer].copy->uses;
  transfers_[transfer].taken = taken;
  const HostCopies::Use& copy = *transfers_[transfer].copy;
  network_.start(transfer, copy.plan, copy.ends, taken.met);
}

void Executor::transfer_ended(TransferId id, double date) {
  const Transfer transfer = transfers_[id];
  free_transfers_.push_back(id);
  if (transfer.group == nullptr) {
    end_copy(transfer, date);
  } else {
    end_collective(transfer, date);
  }
}

void Executor::end_copy(const Transfer& transfer, double date) {
  Stream& stream = transfer.rank->streams()[transfer.stream];
  if (const std::optional<TransferId> next = copies_.give_back(transfer.engine)) {
    const auto launch = static_cast<std::uint32_t>(stream.launches() - 1);
    begin_copy(*next, {date, transfer.rank->number(), launch, transfer.stream});
  }
  if (spec_.record_rendezvous) {
    copies_.keep(transfer.rank->number(), transfer.stream, {transfer.taken, date});
  }
  stream.complete(*transfer.rank, transfer.stream, date, transfer.taken);
  transfer.rank->run();
}

void Executor::end_collective(const Transfer& transfer, double date) {
  const Meeting& meeting = *transfer.meeting;
  const Arrival& last = meeting.arrivals[meeting.last];
  const Rendezvous rendezvous{meeting.met, last.rank->number(), last.launch, last.stream};
  if (spec_.record_rendezvous) {
    transfer.group->keep(meeting.number, {rendezvous, date});
  }
  for (const Arrival& arrival : meeting.arrivals) {
    arrival.rank->communication_ends(date, *arrival.call);
    arrival.rank->streams()[arrival.stream].complete(*arrival.rank, arrival.stream, date, rendezvous);
  }
  for (std::size_t i = 0; i < meeting.arrivals.size(); ++i) {
    if (i + kPrefetchAhead < meeting.arrivals.size()) {
      meeting.arrivals[i + kPrefetchAhead].rank->prefetch();
    }
    meeting.arrivals[i].rank->run();
  }
  transfer.group->forget(meeting);
}

bool Executor::finished() const {
  return std::all_of(ranks_.begin(), ranks_.end(), [](const Rank& rank) { return rank.finished(); });
}

void Executor::finish() {
  for (Rank& rank : ranks_) {
    if (rank.activity) {
      rank.activity->sweep(Network::kNever);
    }
    for (const Stream& stream : rank.streams()) {  // other threads may launch after the main thread's end
      context_.step_ends.back() = std::max(context_.step_ends.back(), stream.clock());
    }
  }
  if (timeline_) {
    timeline_->flush();
  }
}

}  // namespace lockstep
