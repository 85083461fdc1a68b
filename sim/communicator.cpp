#include "sim/communicator.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "sim/rank.hpp"
#include "sim/stall.hpp"

namespace lockstep {

bool is_pair(CollectiveKind kind) {
  return kind == CollectiveKind::Send || kind == CollectiveKind::Receive;
}

namespace {

std::string_view name_of(DataType type) {
  constexpr std::array<std::string_view, 8> kNames{"FP32", "TF32",  "FP16",  "BF16",
                                                   "FP8",  "INT32", "INT64", "BOOL"};
  return kNames[static_cast<std::size_t>(type)];
}

/// Kind and size, and what else tells @p call from @p other.
std::string described(const CollectiveCall& call, const CollectiveCall& other) {
  std::string text = fmt::format("{} of {}", to_string(call.kind), to_string(call.size));
  if (call.type != other.type) {
    text += fmt::format(" {}", name_of(call.type));
  }
  if (call.peer != other.peer && !is_pair(call.kind)) {
    text += fmt::format(" with root {}", call.peer);
  }
  return text;
}

}  // namespace

CollectiveRequest pair_request(const CollectiveCall& call, const MessageCarrier& batch) {
  return {CollectiveKind::Send,
          call.type,
          call.size,
          1,
          0,
          {},
          call.recorded,
          call.batched ? batch : MessageCarrier{}};
}

CollectiveRequest even_request(const CollectiveCall& call) {
  return {call.kind, call.type, call.size, call.peer, 0, {}, call.recorded};
}

CollectivePlan plan_of(const CollectiveRequest& request, std::span<const VertexId> gpus,
                       const PlanCollective& plan_collective) {
  if (!request.recorded) {
    return plan_collective(request, gpus);
  }
  CollectivePlan plan;
  plan.algorithm = "as recorded";
  plan.size = request.size;
  plan.latency = *request.recorded;
  plan.provenance = Provenance::Measured;
  return plan;
}

Communicator::Communicator(std::string name, std::vector<VertexId> gpus, std::vector<std::uint32_t> ranks)
    : name_{std::move(name)}, gpus_{std::move(gpus)}, ranks_{std::move(ranks)}, issued_(ranks_.size(), 0) {}

Meeting* Communicator::arrive(std::uint32_t position, std::uint32_t number, const Arrival& arrival) {
  auto found =
      std::find_if(meetings_.begin(), meetings_.end(), [&](const auto& m) { return m->number == number; });
  if (found == meetings_.end()) {
    if (spare_.empty()) {
      spare_.push_back(std::make_unique<Meeting>());
    }
    meetings_.push_back(std::move(spare_.back()));
    spare_.pop_back();
    found = std::prev(meetings_.end());
    (*found)->number = number;
    (*found)->arrived = 0;
    (*found)->last = position;
    (*found)->arrivals.assign(size(), {});
  }
  Meeting& meeting = **found;
  check_match(meeting, position, arrival);
  meeting.arrivals[position] = arrival;
  // The first member counts of several that arrive last: whoever was simulated first by chance says nothing.
  if (meeting.arrived == 0 || arrival.date > meeting.met ||
      (arrival.date == meeting.met && position < meeting.last)) {
    meeting.last = position;
    meeting.met = arrival.date;
    meeting.call = arrival.call;
  }
  return ++meeting.arrived == size() ? &meeting : nullptr;
}

/// NCCL would hang or corrupt memory here; we say who disagrees.
void Communicator::check_match(const Meeting& meeting, std::uint32_t position, const Arrival& arrival) const {
  if (meeting.arrived == 0) {
    return;
  }
  const CollectiveCall& mine = *arrival.call;
  const CollectiveCall& theirs = *meeting.call;
  if (&mine == &theirs) {
    return;
  }
  const bool uneven = !mine.send_bytes.empty() && !theirs.send_bytes.empty();
  const bool kinds =
      is_pair(mine.kind) ? is_pair(theirs.kind) && mine.kind != theirs.kind : mine.kind == theirs.kind;
  const bool roots = is_pair(mine.kind) || mine.peer == theirs.peer;
  if (kinds && roots && mine.type == theirs.type && (uneven || mine.size == theirs.size)) {
    return;
  }
  throw StallError{fmt::format(
      "collective {} of group '{}' does not match: rank {} calls {}, rank {} calls {}; the members of a "
      "group must call "
      "the same collectives in the same order, with the same type, size and root",
      meeting.number, name_, ranks_[meeting.last], described(theirs, mine), ranks_[position],
      described(mine, theirs))};
}

CollectiveRequest Communicator::request_of(const Meeting& meeting) const {
  const CollectiveCall& call = *meeting.arrivals.front().call;
  if (is_pair(call.kind)) {
    return pair_request(call, batch_);
  }
  CollectiveRequest request = even_request(call);
  if (call.send_bytes.empty()) {
    return request;
  }
  request.size = Bytes{0};
  for (const Arrival& arrival : meeting.arrivals) {
    request.bytes.insert(request.bytes.end(), arrival.call->send_bytes.begin(),
                         arrival.call->send_bytes.end());
    request.size = std::max(request.size, arrival.call->size);
  }
  return request;
}

const CollectivePlan& Communicator::plan(const Meeting& meeting, const PlanCollective& plan_collective) {
  const CollectivePlan& plan = this->plan(request_of(meeting), plan_collective);
  for (PlanUse& use : plans_) {
    if (&use.plan == &plan) {
      ++use.uses;
    }
  }
  return plan;
}

const CollectivePlan& Communicator::plan(const CollectiveRequest& request,
                                         const PlanCollective& plan_collective) {
  for (const PlanUse& use : plans_) {
    if (use.request == request) {
      return use.plan;
    }
  }
  plans_.push_back({request, plan_of(request, gpus_, plan_collective), 0});
  return plans_.back().plan;
}

const CollectivePlan& Communicator::adopt(const CollectiveRequest& request, CollectivePlan plan) {
  plans_.push_back({request, std::move(plan), 0});
  return plans_.back().plan;
}

const CollectivePlan* Communicator::find_plan(const CollectiveCall& call) const {
  const auto kind = is_pair(call.kind) ? CollectiveKind::Send : call.kind;
  for (const PlanUse& use : plans_) {
    if (use.request.kind == kind && (use.request.size == call.size || !use.request.bytes.empty())) {
      return &use.plan;
    }
  }
  return nullptr;
}

void Communicator::keep(std::uint32_t number, const RendezvousRecord& record) {
  if (records_.size() <= number) {
    records_.resize(number + 1);
  }
  records_[number] = record;
}

void Communicator::forget(const Meeting& meeting) {
  const auto found =
      std::find_if(meetings_.begin(), meetings_.end(), [&](const auto& m) { return m.get() == &meeting; });
  spare_.push_back(std::move(*found));
  meetings_.erase(found);
}

}  // namespace lockstep
