/// @file
/// How an Executor comes to its ranks, communicators and plans.

#include <algorithm>
#include <set>

#include "ops/collectives/channels.hpp"
#include "sim/executor.hpp"
#include "sim/folding/folding.hpp"

namespace lockstep {
namespace {

bool is_uneven(const CollectiveCall& call) {
  return !call.send_bytes.empty();
}

}  // namespace

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

/// Only interference asks for channels.
void Executor::limit_channels(Communicator& group) const {
  if (context_.stepped) {
    group.limit_sms(channel_limit(*spec_.fabric, group.gpus()));
  }
}

MessageCarrier Executor::carrier_of(const ProcessGroup& group) const {
  std::vector<VertexId> gpus;
  for (const std::uint32_t rank : group.ranks) {
    gpus.push_back(job_.ranks[rank].gpu);
  }
  return lockstep::carrier_of(*spec_.fabric, gpus);
}

/// One communicator for all groups that are alike; their plans are known.
void Executor::make_folded_groups() {
  const Folding& folding = *spec_.folding;
  for (const Folding::Group& group : folding.groups()) {
    const TrafficGroup& original = folding.traffic().groups[group.original];
    std::vector<VertexId> gpus;
    for (const std::uint32_t rank : original.ranks) {
      gpus.push_back(job_.ranks[rank].gpu);
    }
    communicators_.emplace_back(job_.groups[original.group].name, std::move(gpus), group.ranks);
    limit_channels(communicators_.back());
    communicators_.back().carry_batches(original.batch);
    for (std::size_t call = 0; call < group.plans.size(); ++call) {
      network_.prepare(communicators_.back().adopt(original.calls[call].request, group.plans[call]));
    }
  }
  for (Rank& rank : ranks_) {
    std::vector<Membership> memberships;
    for (std::uint32_t slot = 0; slot < rank.assignment().groups.size(); ++slot) {
      const Folding::Seat seat = folding.seat(rank.number(), slot);
      memberships.push_back({&communicators_[seat.group], seat.position});
    }
    rank.join(std::move(memberships));
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
    limit_channels(communicators_.back());
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

void Executor::make_meters() {
  for (const std::uint32_t number : spec_.metered_ranks) {
    Rank& rank = ranks_[index_of(number)];
    if (!rank.activity) {
      rank.meter_activity();
    }
  }
}

/// Even collectives.
void Executor::prepare_groups() {
  std::set<std::pair<std::uint32_t, std::uint32_t>> seen;  // program and group
  for (const RankAssignment& rank : job_.ranks) {
    const Program& program = *job_.programs[rank.program];
    for (std::uint32_t slot = 0; slot < rank.groups.size(); ++slot) {
      if (!seen.emplace(rank.program, rank.groups[slot]).second) {
        continue;
      }
      for (const CollectiveCall& call : program.collectives) {
        if (call.group == slot && !is_uneven(call) && !is_pair(call.kind)) {
          network_.prepare(communicators_[rank.groups[slot]].plan(even_request(call), spec_.plan_collective));
        }
      }
    }
  }
}

/// Networks compress what they know beforehand, so copies and even collectives are planned now.
void Executor::prepare_plans() {
  if (spec_.folding == nullptr) {  // else the groups came with their plans
    prepare_groups();
    std::ranges::for_each(ranks_, [this](Rank& rank) { prepare_pairs(rank); });
  }
  for (const Rank& rank : ranks_) {
    const auto& kernels = compiled_of(rank.number()).kernels;
    for (std::uint32_t kernel = 0; kernel < kernels.size(); ++kernel) {
      if (kernels[kernel].crosses_links()) {
        network_.prepare(copy_plan(rank, kernel).plan);
      }
    }
  }
}

/// Sends and receives that a rank calls: of all ranks alike, and in its slots.
void Executor::prepare_pairs(Rank& rank) {
  const auto prepare = [&](const CollectiveCall& call) {
    if (is_pair(call.kind)) {
      Communicator& group = *pair(rank, call).group;
      network_.prepare(group.plan(pair_request(call, group.batch()), spec_.plan_collective));
    }
  };
  const CompiledProgram& compiled = compiled_of(rank.number());
  for (const std::uint32_t collective : compiled.pairs) {
    prepare(rank.program().collectives[collective]);
  }
  for (const std::uint32_t collective : rank.assignment().collective_slots) {
    prepare(rank.program().collectives[collective]);
  }
}

}  // namespace lockstep
