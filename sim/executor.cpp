#include "sim/executor.hpp"

#include <algorithm>
#include <cassert>
#include <set>

namespace lockstep {
namespace {

// SimGrid's clock adds up differences; our dates are exact. What is due within this of the clock is due now.
constexpr double kClockSlack = 1e-12;

// Members of a collective whose state is fetched into the cache while another one runs.
constexpr std::size_t kPrefetchAhead = 3;

bool is_uneven(const CollectiveCall& call) {
  return !call.send_bytes.empty();
}

bool is_pair(const CollectiveCall& call) {
  return call.kind == CollectiveKind::Send || call.kind == CollectiveKind::Receive;
}

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
  make_groups();
  make_logs();
  prepare_plans();
}

Executor::~Executor() = default;

void Executor::make_ranks() {
  for (std::uint32_t number = 0; number < job_.ranks.size(); ++number) {
    ranks_.emplace_back(number, job_.ranks[number], spec_.compiled[spec_.compiled_of_rank[number]], context_,
                        spec_.timings[spec_.timing_of_rank[number]]);
  }
}

void Executor::make_groups() {
  std::vector<std::vector<Membership>> memberships(job_.ranks.size());
  for (std::uint32_t number = 0; number < job_.ranks.size(); ++number) {
    memberships[number].resize(job_.ranks[number].groups.size());
  }
  for (std::uint32_t index = 0; index < job_.groups.size(); ++index) {
    const ProcessGroup& group = job_.groups[index];
    std::vector<VertexId> gpus;
    for (const std::uint32_t rank : group.ranks) {
      gpus.push_back(job_.ranks[rank].gpu);
    }
    communicators_.emplace_back(group.name, std::move(gpus), group.ranks);
    for (std::uint32_t place = 0; place < group.ranks.size(); ++place) {
      const std::uint32_t member = group.ranks[place];
      const auto& groups = job_.ranks[member].groups;
      for (std::size_t slot = 0; slot < groups.size(); ++slot) {
        if (groups[slot] == index) {
          memberships[member][slot] = {&communicators_.back(), place};
        }
      }
    }
  }
  for (std::uint32_t number = 0; number < job_.ranks.size(); ++number) {
    ranks_[number].join(std::move(memberships[number]));
  }
}

void Executor::make_logs() {
  for (Rank& rank : ranks_) {
    if (spec_.record_last_step) {
      rank.record_step(context_.steps - 1);
    }
  }
  for (const std::uint32_t rank : spec_.metered_ranks) {
    ranks_[rank].meter_activity();
  }
}

/// Networks compress what they know beforehand, so copies and even collectives are planned now.
void Executor::prepare_plans() {
  std::set<std::pair<std::uint32_t, std::uint32_t>> seen;  // program and group
  for (const RankAssignment& rank : job_.ranks) {
    const Program& program = *job_.programs[rank.program];
    for (std::uint32_t slot = 0; slot < rank.groups.size(); ++slot) {
      if (!seen.emplace(rank.program, rank.groups[slot]).second) {
        continue;
      }
      for (const CollectiveCall& call : program.collectives) {
        if (call.group == slot && !is_uneven(call) && !is_pair(call)) {
          network_.prepare(communicators_[rank.groups[slot]].plan(
              {call.kind, call.type, call.size, call.peer, 0, {}}, spec_.plan_collective));
        }
      }
    }
  }
  for (Rank& rank : ranks_) {
    prepare_pairs(rank);
    const auto& kernels = spec_.compiled[spec_.compiled_of_rank[rank.number()]].kernels;
    for (std::uint32_t kernel = 0; kernel < kernels.size(); ++kernel) {
      if (kernels[kernel].kind == KernelTiming::Kind::Transfer) {
        network_.prepare(copy_plan(rank, kernel).plan);
      }
    }
  }
}

/// Sends and receives that a rank calls: of all ranks alike, and in its slots.
void Executor::prepare_pairs(Rank& rank) {
  const auto prepare = [&](const CollectiveCall& call) {
    if (is_pair(call)) {
      network_.prepare(pair(rank, call).group->plan(pair_request(call), spec_.plan_collective));
    }
  };
  const CompiledProgram& compiled = spec_.compiled[spec_.compiled_of_rank[rank.number()]];
  for (const std::uint32_t collective : compiled.pairs) {
    prepare(rank.program().collectives[collective]);
  }
  for (const std::uint32_t collective : rank.assignment().collective_slots) {
    prepare(rank.program().collectives[collective]);
  }
}

void Executor::begin() {
  for (Rank& rank : ranks_) {
    rank.run();
  }
}

double Executor::next_date() {
  const double completion = network_.next_completion();
  return heap_.empty() ? completion : std::min(completion, heap_.front().date);
}

void Executor::advance_to(double now) {
  const double due = now + kClockSlack;
  for (double date = next_date(); date <= due; date = next_date()) {
    assert(date >= now_ - kClockSlack && "something starts in the past");
    now_ = std::max(now_, date);
    if (network_.next_completion() <= date) {
      transfer_ended(network_.complete_next(), date);
      continue;
    }
    const Scheduled next = heap_.front();
    std::pop_heap(heap_.begin(), heap_.end());
    heap_.pop_back();
    happen(next);
  }
}

void Executor::schedule(double date, Moment what, std::uint32_t subject, std::uint8_t stream) {
  heap_.push_back({date, order_++, subject, what, stream});
  std::push_heap(heap_.begin(), heap_.end());
}

void Executor::happen(const Scheduled& scheduled) {
  switch (scheduled.what) {
    case Moment::Meet: {
      const Transfer& transfer = transfers_[scheduled.subject];
      for (const Arrival& arrival : transfer.meeting->arrivals) {
        arrival.rank->communication_transfers(scheduled.date);
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
        begin_copy(scheduled.subject, scheduled.date);
      }
      break;
    }
    case Moment::StreamTick:
      ranks_[scheduled.subject].tick(scheduled.stream, scheduled.date);
      ranks_[scheduled.subject].run();
      break;
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

Membership Executor::pair(Rank& rank, const CollectiveCall& call) {
  const auto& group = job_.groups[rank.assignment().groups[call.group]];
  const std::uint32_t peer = group.ranks[static_cast<std::size_t>(call.peer)];
  const bool sends = call.kind == CollectiveKind::Send;
  const std::uint32_t source = sends ? rank.number() : peer;
  const std::uint32_t target = sends ? peer : rank.number();
  auto& known = pairs_[{rank.assignment().groups[call.group], source, target}];
  if (known == nullptr) {
    known = &communicators_.emplace_back(
        group.name, std::vector{job_.ranks[source].gpu, job_.ranks[target].gpu}, std::vector{source, target});
  }
  return {known, sends ? 0U : 1U};
}

void Executor::arrive(Rank& rank, std::uint8_t stream, const StreamItem& item, double date) {
  const CollectiveCall& call = rank.call_of(rank.instruction_of(item));
  const Membership member = rank.membership(call);
  const std::uint32_t entry = rank.log ? rank.log->streams[stream].latest() : RankLog::kNoEntry;
  Meeting* meeting =
      member.group->arrive(member.position, item.collective, {&rank, &call, date, entry, stream});
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
  const auto& call = std::get<Memcpy>(rank.program().kernels[kernel].work);
  Transfer transfer;
  transfer.rank = &rank;
  transfer.stream = stream;
  transfer.copy = &copy_plan(rank, kernel);
  transfer.engine =
      std::uint64_t{rank.assignment().gpu} << 1U | (call.path == Memcpy::Path::DeviceToHost ? 1U : 0U);
  engines_.try_emplace(transfer.engine, CopyEngines{rank.timing().copy_engines, {}});
  schedule(date, Moment::CopyReady, new_transfer(transfer));
}

/// A copy is a transfer over the route between host memory and GPU that alone takes what its kernel model
/// says.
Executor::CopyUse& Executor::copy_plan(const Rank& rank, std::uint32_t kernel) {
  CopyUse*& known = copy_plan_of_[{rank.assignment().gpu, rank.assignment().program, kernel}];
  if (known == nullptr) {
    const auto& call = std::get<Memcpy>(rank.program().kernels[kernel].work);
    const VertexId gpu = rank.assignment().gpu;
    const VertexId memory = spec_.fabric->host_memory_of(gpu);
    const bool down = call.path == Memcpy::Path::HostToDevice;
    CollectivePlan plan;
    plan.algorithm = "copy";
    plan.size = call.size;
    plan.rate_cap = call.size / Seconds{rank.timing_of(kernel).seconds};
    for (const LinkId link :
         (down ? spec_.fabric->route(memory, gpu) : spec_.fabric->route(gpu, memory)).links) {
      plan.loads.push_back({link, 1.0});
    }
    std::sort(plan.loads.begin(), plan.loads.end(), [](auto& a, auto& b) { return a.link < b.link; });
    plan.edges.push_back({0, 1, 1.0});
    known =
        &copy_plans_.emplace_back(CopyUse{std::move(plan), {down ? memory : gpu, down ? gpu : memory}, 0});
  }
  return *known;
}

void Executor::begin_copy(TransferId transfer, double date) {
  ++transfers_[transfer].copy->uses;
  transfers_[transfer].begun = date;
  const CopyUse& copy = *transfers_[transfer].copy;
  network_.start(transfer, copy.plan, copy.ends, date);
}

void Executor::call_at(Rank& rank, std::uint8_t stream, double date) {
  schedule(date, Moment::StreamTick, rank.number(), stream);
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
  CopyEngines& engines = engines_.at(transfer.engine);
  if (engines.queue.empty()) {
    ++engines.free;
  } else {
    const TransferId next = engines.queue.front();
    engines.queue.pop_front();
    begin_copy(next, date);
  }
  transfer.rank->streams()[transfer.stream].complete(*transfer.rank, transfer.stream, date, {transfer.begun});
  transfer.rank->run();
}

void Executor::end_collective(const Transfer& transfer, double date) {
  const Meeting& meeting = *transfer.meeting;
  const Arrival& last = meeting.arrivals[meeting.last];
  const Encounter encounter{meeting.met, last.rank->number(), last.entry, last.stream};
  for (const Arrival& arrival : meeting.arrivals) {
    arrival.rank->communication_ends(date);
    arrival.rank->streams()[arrival.stream].complete(*arrival.rank, arrival.stream, date, encounter);
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
