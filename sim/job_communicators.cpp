#include "sim/job_communicators.hpp"

#include <algorithm>
#include <utility>

#include "ops/collectives/channels.hpp"
#include "sim/folding/folding.hpp"
#include "sim/group_calls.hpp"

namespace lockstep {
namespace {

bool is_uneven(const CollectiveCall& call) {
  return !call.send_bytes.empty();
}

}  // namespace

void JobCommunicators::make(std::deque<Rank>& ranks, Network& network) {
  if (spec_.folding != nullptr) {
    make_folded_groups(ranks, network);
    return;
  }
  make_groups(ranks);
  prepare_groups(network);
  for (Rank& rank : ranks) {
    prepare_pairs(rank, network);
  }
}

Membership JobCommunicators::pair(const Rank& rank, const CollectiveCall& call) {
  const std::uint32_t index = rank.assignment().groups[call.group];
  const ProcessGroup& group = job_.groups[index];
  const std::uint32_t peer = group.ranks[static_cast<std::size_t>(call.peer)];
  const bool sends = call.kind == CollectiveKind::Send;
  const std::uint32_t source = sends ? rank.number() : peer;
  const std::uint32_t target = sends ? peer : rank.number();
  if (spec_.folding != nullptr) {
    return {&all_[spec_.folding->pair(index, source, target)], sends ? 0U : 1U};
  }
  auto& known = pairs_[{index, source, target}];
  if (known == nullptr) {
    known = &all_.emplace_back(group.name, gpus_of({source, target}), std::vector{source, target});
    limit_channels(*known);
    known->carry_batches(carrier_of(*spec_.fabric, gpus_of(group.ranks)));
  }
  return {known, sends ? 0U : 1U};
}

std::vector<VertexId> JobCommunicators::gpus_of(const std::vector<std::uint32_t>& ranks) const {
  std::vector<VertexId> gpus;
  gpus.reserve(ranks.size());
  for (const std::uint32_t rank : ranks) {
    gpus.push_back(job_.ranks[rank].gpu);
  }
  return gpus;
}

/// Only interference asks for channels.
void JobCommunicators::limit_channels(Communicator& group) const {
  if (spec_.stepped) {
    group.limit_sms(channel_limit(*spec_.fabric, group.gpus()));
  }
}

/// One communicator for all groups that are alike; their plans are known.
void JobCommunicators::make_folded_groups(std::deque<Rank>& ranks, Network& network) {
  const Folding& folding = *spec_.folding;
  for (const Folding::Group& group : folding.groups()) {
    const TrafficGroup& original = folding.traffic().groups[group.original];
    Communicator& made =
        all_.emplace_back(job_.groups[original.group].name, gpus_of(original.ranks), group.ranks);
    limit_channels(made);
    made.carry_batches(original.batch);
    for (std::size_t call = 0; call < group.plans.size(); ++call) {
      network.prepare(made.adopt(original.calls[call].request, group.plans[call]));
    }
  }
  for (Rank& rank : ranks) {
    std::vector<Membership> memberships;
    for (std::uint32_t slot = 0; slot < rank.assignment().groups.size(); ++slot) {
      const Folding::Seat seat = folding.seat(rank.number(), slot);
      memberships.push_back({&all_[seat.group], seat.position});
    }
    rank.join(std::move(memberships));
  }
}

void JobCommunicators::make_groups(std::deque<Rank>& ranks) {
  std::vector<std::vector<Membership>> memberships(job_.ranks.size());
  for (std::uint32_t number = 0; number < job_.ranks.size(); ++number) {
    memberships[number].resize(job_.ranks[number].groups.size());
  }
  for (std::uint32_t index = 0; index < job_.groups.size(); ++index) {
    const ProcessGroup& group = job_.groups[index];
    Communicator& made = all_.emplace_back(group.name, gpus_of(group.ranks), group.ranks);
    limit_channels(made);
    for (std::uint32_t place = 0; place < group.ranks.size(); ++place) {
      const std::uint32_t member = group.ranks[place];
      const auto& groups = job_.ranks[member].groups;
      for (std::size_t slot = 0; slot < groups.size(); ++slot) {
        if (groups[slot] == index) {
          memberships[member][slot] = {&made, place};
        }
      }
    }
  }
  for (std::uint32_t number = 0; number < job_.ranks.size(); ++number) {
    ranks[number].join(std::move(memberships[number]));
  }
}

/// Plans the even collectives.
void JobCommunicators::prepare_groups(Network& network) {
  for_each_group_call(job_, [&](std::uint32_t group, const CollectiveCall& call) {
    if (!is_uneven(call)) {
      network.prepare(all_[group].plan(even_request(call), spec_.plan_collective));
    }
  });
}

/// Sends and receives that a rank calls: of all ranks alike, and in its slots.
void JobCommunicators::prepare_pairs(Rank& rank, Network& network) {
  const auto prepare = [&](const CollectiveCall& call) {
    if (is_pair(call.kind)) {
      Communicator& group = *pair(rank, call).group;
      network.prepare(group.plan(pair_request(call, group.batch()), spec_.plan_collective));
    }
  };
  for (const std::uint32_t collective : spec_.compiled[spec_.compiled_of_rank[rank.number()]].pairs) {
    prepare(rank.program().collectives[collective]);
  }
  for (const std::uint32_t collective : rank.assignment().collective_slots) {
    prepare(rank.program().collectives[collective]);
  }
}

}  // namespace lockstep
