#include "sim/executor.hpp"

#include <algorithm>
#include <cassert>
#include <limits>
#include <optional>

#include "sim/copy_plan.hpp"
#include "sim/folding/folding.hpp"

namespace lockstep {
namespace {

// SimGrid's clock adds up differences; our dates are exact. What is due within this of the clock is due now.
constexpr double kClockSlack = 1e-12;

// Members of a collective whose state is fetched into the cache while another one runs.
constexpr std::size_t kPrefetchAhead = 3;

}  // namespace

Executor::Executor(const Job& job, ExecutorSpec spec, Network& network, TimelineSink* timeline)
    : job_{job}, spec_{std::move(spec)}, network_{network} {
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
  if (spec_.folding == nullptr) {
    make_groups();
  } else {
    make_folded_groups();
  }
  make_meters();
  prepare_plans();
}

Executor::~Executor() = default;

std::size_t Executor::index_of(std::uint32_t number) const {
  return spec_.folding == nullptr ? number : spec_.folding->class_of(number);
}

void Executor::begin() {
  for (Rank& rank : ranks_) {
    rank.run();
  }
}

double Executor::next_scheduled() const {
  const double scheduled = heap_.empty() ? Network::kNever : heap_.front().date;
  return ticks_.empty() ? scheduled : std::min(scheduled, ticks_.front().date);
}

bool Executor::is_tick_next() const {
  if (heap_.empty() || ticks_.empty()) {
    return heap_.empty();
  }
  const Tick& tick = ticks_.front();
  const Scheduled& other = heap_.front();
  return tick.date < other.date || (tick.date == other.date && tick.order < other.order);
}

double Executor::next_date() {
  // Work that starts at the current date starts before rates are shared out for it.
  const double scheduled = next_scheduled();
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
  if (next_scheduled() > date || network_.completes_by(date)) {
    transfer_ended(network_.complete_next(), date);
  } else if (is_tick_next()) {
    tick();
  } else {
    const Scheduled next = heap_.front();
    std::pop_heap(heap_.begin(), heap_.end());
    heap_.pop_back();
    happen(next);
  }
}

void Executor::tick() {
  const Tick next = ticks_.front();
  std::pop_heap(ticks_.begin(), ticks_.end());
  ticks_.pop_back();
  next.rank->tick(next.stream, next.date);
  next.rank->run();
}

/// No tick changes what the network carries, so its next completion stays.
void Executor::pass_ticks() {
  if (!network_.knows_completions()) {
    return;
  }
  std::optional<double> completion;
  while (!ticks_.empty()) {
    const double date = ticks_.front().date;
    if (!heap_.empty() && heap_.front().date <= date) {
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

void Executor::schedule(double date, Moment what, TransferId subject) {
  heap_.push_back({date, order_++, subject, what});
  std::push_heap(heap_.begin(), heap_.end());
}

void Executor::happen(const Scheduled& scheduled) {
  switch (scheduled.what) {
    case Moment::Meet: {
      const Transfer& transfer = transfers_[scheduled.subject];
      for (const Arrival& arrival : transfer.meeting->arrivals) {
        arrival.rank->communication_transfers(scheduled.date, *arrival.call);
      }
      schedule(scheduled.date + transfer.meeting->plan->latency.in_base_units(), Moment::TransferStart,
               scheduled.subject);
      break;
    }
    case Moment::TransferStart: {
      const Transfer& transfer = transfers_[scheduled.subject];
      network_.start(scheduled.subject, *transfer.meeting->plan, transfer.group->gpus(), scheduled.date);
      break;
    }
    case Moment::CopyReady: {
      CopyEngines& engines = engines_.at(transfers_[scheduled.subject].engine);
      if (engines.free == 0) {
        engines.queue.push_back(scheduled.subject);
      } else {
        --engines.free;
        begin_copy(scheduled.subject, {.met = scheduled.date});
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

Membership Executor::pair(const Rank& rank, const CollectiveCall& call) {
  const auto& group = job_.groups[rank.assignment().groups[call.group]];
  const std::uint32_t peer = group.ranks[static_cast<std::size_t>(call.peer)];
  const bool sends = call.kind == CollectiveKind::Send;
  const std::uint32_t source = sends ? rank.number() : peer;
  const std::uint32_t target = sends ? peer : rank.number();
  if (spec_.folding != nullptr) {
    const std::uint32_t kind = spec_.folding->pair(rank.assignment().groups[call.group], source, target);
    return {&communicators_[kind], sends ? 0U : 1U};
  }
  auto& known = pairs_[{rank.assignment().groups[call.group], source, target}];
  if (known == nullptr) {
    known = &communicators_.emplace_back(
        group.name, std::vector{job_.ranks[source].gpu, job_.ranks[target].gpu}, std::vector{source, target});
    limit_channels(*known);
    known->carry_batches(carrier_of(group));
  }
  return {known, sends ? 0U : 1U};
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
      schedule(meeting->met, Moment::Meet, id);
    } else {
      schedule(meeting->met + meeting->plan->latency.in_base_units(), Moment::TransferStart, id);
    }
  }
}

void Executor::copy(Rank& rank, std::uint8_t stream, std::uint32_t kernel, double date) {
  Transfer transfer;
  transfer.rank = &rank;
  transfer.stream = stream;
  transfer.copy = &copy_plan(rank, kernel);
  const KernelCall& call = rank.program().kernels[kernel];
  const auto* copy = std::get_if<Memcpy>(&call.work);
  const bool to_host = copy != nullptr && copy->path == Memcpy::Path::DeviceToHost;
  const bool queues = needs_copy_engine(call);
  transfer.engine = std::uint64_t{rank.assignment().gpu} << 2U | (to_host ? 1U : 0U) | (queues ? 0U : 2U);
  const int engines = queues ? rank.timing().copy_engines : std::numeric_limits<int>::max();
  engines_.try_emplace(transfer.engine, CopyEngines{engines, {}});
  schedule(date, Moment::CopyReady, new_transfer(transfer));
}

Executor::CopyUse& Executor::copy_plan(const Rank& rank, std::uint32_t kernel) {
  CopyUse*& known = copy_plan_of_[{rank.assignment().gpu, rank.assignment().program, kernel}];
  if (known == nullptr) {
    const VertexId gpu = rank.assignment().gpu;
    CollectivePlan plan = lockstep::copy_plan(
        host_traffic(rank.program().kernels[kernel]), Seconds{rank.timing_of(kernel).seconds},
        [&](Memcpy::Path path) {
          return spec_.folding != nullptr ? spec_.folding->copy_loads(rank.number(), path)
                                          : loads_of(copy_route(*spec_.fabric, gpu, path));
        });
    known = &copy_plans_.emplace_back(CopyUse{std::move(plan), {spec_.fabric->host_memory_of(gpu), gpu}, 0});
  }
  return *known;
}

void Executor::begin_copy(TransferId transfer, const Rendezvous& taken) {
  ++transfers_[transfer].copy->uses;
  transfers_[transfer].taken = taken;
  const CopyUse& copy = *transfers_[transfer].copy;
  network_.start(transfer, copy.plan, copy.ends, taken.met);
}

void Executor::call_at(Rank& rank, std::uint8_t stream, double date) {
  ticks_.push_back({date, order_++, &rank, stream});
  std::push_heap(ticks_.begin(), ticks_.end());
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
  CopyEngines& engines = engines_.at(transfer.engine);
  if (engines.queue.empty()) {
    ++engines.free;
  } else {
    const TransferId next = engines.queue.front();
    engines.queue.pop_front();
    const auto launch = static_cast<std::uint32_t>(stream.launches() - 1);
    begin_copy(next, {date, transfer.rank->number(), launch, transfer.stream});
  }
  if (spec_.record_rendezvous) {
    copy_records_[{transfer.rank->number(), transfer.stream}].push_back({transfer.taken, date});
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
