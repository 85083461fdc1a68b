#include "sim/folding/job_traffic.hpp"

#include <algorithm>
#include <cassert>
#include <set>
#include <tuple>
#include <utility>
#include <variant>

#include "ops/collectives/channels.hpp"
#include "sim/copy_plan.hpp"
#include "sim/folding/lone_groups.hpp"
#include "sim/group_calls.hpp"
#include "sim/network/link_weight.hpp"
#include "sim/network/network.hpp"

namespace lockstep {
namespace {

/// Group, sender and receiver of a send or receive of @p rank.
std::array<std::uint32_t, 3> ends_of(const Job& job, std::uint32_t rank, const CollectiveCall& call) {
  const std::uint32_t group = job.ranks[rank].groups[call.group];
  const std::uint32_t peer = job.groups[group].ranks[static_cast<std::size_t>(call.peer)];
  return call.kind == CollectiveKind::Send ? std::array{group, rank, peer} : std::array{group, peer, rank};
}

bool same_loads(const std::vector<LinkLoad>& a, const std::vector<LinkLoad>& b) {
  return a == b;
}

double rate_alone(const Fabric& fabric, const CollectivePlan& plan) {
  double rate = Network::kNever;
  for (const LinkLoad& load : plan.loads) {
    rate = std::min(rate, fabric.links()[load.link].bandwidth.in_base_units() / load.share);
  }
  return rate;
}

/// Sends and receives that a program's instructions name, and the slots that its collectives fill.
struct PairCalls {
  std::set<std::uint32_t> direct;  // indices into Program::collectives
  std::set<std::uint32_t> slots;
};

PairCalls pair_calls(const Program& program) {
  PairCalls calls;
  for (const Program::Thread& thread : program.threads) {
    for (const Instruction& instruction : thread.instructions) {
      if (instruction.op != Opcode::Collective) {
        continue;
      }
      if (instruction.per_rank) {
        calls.slots.insert(instruction.operand);
      } else if (is_pair(program.collectives[instruction.operand].kind)) {
        calls.direct.insert(instruction.operand);
      }
    }
  }
  return calls;
}

class Collector {
 public:
  Collector(const Job& job, const Fabric& fabric, const PlanCollective& plan_collective)
      : job_{job}, fabric_{fabric}, plan_collective_{plan_collective} {}

  JobTraffic collect(const std::vector<const CompiledProgram*>& compiled) {
    add_groups();
    add_even_calls();
    add_pairs();
    add_copies(compiled);
    mark_lone_groups(compiled);
    return std::move(traffic_);
  }

 private:
  void add_groups() {
    for (std::uint32_t index = 0; index < job_.groups.size(); ++index) {
      traffic_.groups.push_back({index, false, job_.groups[index].ranks, {}, {}, {}});
    }
  }

  /// In the order in which the executor would prepare them.
  void add_even_calls() {
    for_each_group_call(job_, [this](std::uint32_t group, const CollectiveCall& call) {
      assert(call.send_bytes.empty());
      add_call(traffic_.groups[group], even_request(call));
    });
  }

  void add_call(TrafficGroup& group, const CollectiveRequest& request) {
    if (std::ranges::any_of(group.calls, [&](const TrafficCall& c) { return c.request == request; })) {
      return;
    }
    std::vector<VertexId> gpus;
    for (const std::uint32_t rank : group.ranks) {
      gpus.push_back(job_.ranks[rank].gpu);
    }
    CollectivePlan plan = plan_of(request, gpus, plan_collective_);
    const double unit = unit_of(plan);
    const auto known = std::ranges::find_if(group.shapes, [&](const TrafficShape& shape) {
      return shape.unit == unit && same_loads(shape.loads, plan.loads);
    });
    const auto shape = static_cast<std::uint32_t>(known - group.shapes.begin());
    if (known == group.shapes.end()) {
      const double fastest = rate_alone(fabric_, plan);
      group.shapes.push_back({unit, std::move(plan.loads), fastest});
    }
    plan.edges = {};
    plan.loads = {};
    group.calls.push_back({request, std::move(plan), shape});
  }

  void add_pairs() {
    std::vector<PairCalls> by_program;
    for (const auto& program : job_.programs) {
      by_program.push_back(pair_calls(*program));
    }
    traffic_.pairs.resize(job_.ranks.size());
    for (std::uint32_t rank = 0; rank < job_.ranks.size(); ++rank) {
      const RankAssignment& assignment = job_.ranks[rank];
      const Program& program = *job_.programs[assignment.program];
      const PairCalls& calls = by_program[assignment.program];
      for (const std::uint32_t call : calls.direct) {
        add_pair(rank, call, program.collectives[call]);
      }
      for (const std::uint32_t slot : calls.slots) {
        const CollectiveCall& call = program.collectives[assignment.collective_slots[slot]];
        if (is_pair(call.kind)) {
          add_pair(rank, TrafficPair::kSlot + slot, call);
        }
      }
    }
    for (auto& [pair, requests] : requests_) {
      const auto order = [](const CollectiveRequest& of) {
        return std::tuple{of.size, of.type, of.carrier.members};
      };
      std::ranges::sort(requests, {}, order);
      for (const CollectiveRequest& request : requests) {
        add_call(traffic_.groups[pair], request);
      }
    }
  }

  void add_pair(std::uint32_t rank, std::uint32_t place, const CollectiveCall& call) {
    const auto ends = ends_of(job_, rank, call);
    const auto [entry, fresh] =
        traffic_.pair_of.try_emplace(ends, static_cast<std::uint32_t>(traffic_.groups.size()));
    if (fresh) {
      traffic_.groups.push_back({ends[0], true, {ends[1], ends[2]}, {}, {}, {}, batch_of(ends[0])});
    }
    const std::uint32_t position = rank == ends[1] ? 0U : 1U;
    traffic_.pairs[rank].push_back({entry->second, position, place});
    traffic_.groups[entry->second].places[position].push_back(place);
    std::vector<CollectiveRequest>& requests = requests_[entry->second];
    const CollectiveRequest request = pair_request(call, traffic_.groups[entry->second].batch);
    const auto is_same = [&](const CollectiveRequest& known) { return known == request; };
    if (std::ranges::none_of(requests, is_same)) {
      requests.push_back(request);
    }
  }

  const MessageCarrier& batch_of(std::uint32_t group) {
    const auto [known, fresh] = batches_.try_emplace(group);
    if (fresh) {
      std::vector<VertexId> gpus;
      for (const std::uint32_t rank : job_.groups[group].ranks) {
        gpus.push_back(job_.ranks[rank].gpu);
      }
      known->second = carrier_of(fabric_, gpus);
    }
    return known->second;
  }

  void add_copies(const std::vector<const CompiledProgram*>& compiled) {
    std::map<const CompiledProgram*, std::set<Memcpy::Path>> paths;
    for (const CompiledProgram* program : compiled) {
      if (paths.contains(program)) {
        continue;
      }
      auto& used = paths[program];
      for (std::size_t kernel = 0; kernel < program->kernels.size(); ++kernel) {
        if (program->kernels[kernel].crosses_links()) {
          for (const TrafficPart& part : parts_of(host_traffic(program->program->kernels[kernel]))) {
            used.insert(part.path);
          }
        }
      }
    }
    traffic_.copies.resize(job_.ranks.size());
    for (std::size_t rank = 0; rank < job_.ranks.size(); ++rank) {
      for (const Memcpy::Path path : paths[compiled[rank]]) {
        traffic_.copies[rank].on(path) = copy_route(fabric_, job_.ranks[rank].gpu, path);
      }
    }
  }

  void mark_lone_groups(const std::vector<const CompiledProgram*>& compiled) {
    const std::vector<bool> lone = lone_groups(job_, compiled);
    for (std::size_t group = 0; group < lone.size(); ++group) {
      traffic_.groups[group].is_lone = lone[group];
    }
  }

  const Job& job_;
  const Fabric& fabric_;
  const PlanCollective& plan_collective_;
  JobTraffic traffic_;
  std::map<std::uint32_t, std::vector<CollectiveRequest>> requests_;  // by pair: each once
  std::map<std::uint32_t, MessageCarrier> batches_;                   // by group of the job
};

}  // namespace

JobTraffic traffic_of(const Job& job, const Fabric& fabric,
                      const std::vector<const CompiledProgram*>& compiled,
                      const PlanCollective& plan_collective) {
  return Collector{job, fabric, plan_collective}.collect(compiled);
}

const TrafficCall* TrafficGroup::find(const CollectiveCall& call) const {
  const auto found = std::ranges::find_if(calls, [&](const TrafficCall& planned) {
    const CollectiveKind kind = lockstep::is_pair(call.kind) ? CollectiveKind::Send : call.kind;
    return planned.request.kind == kind && planned.request.size == call.size &&
           planned.request.recorded == call.recorded &&
           planned.request.carrier == (call.batched ? batch : MessageCarrier{});
  });
  return found == calls.end() ? nullptr : &*found;
}

const TrafficGroup& JobTraffic::group_of(const Job& job, std::uint32_t rank,
                                         const CollectiveCall& call) const {
  const std::uint32_t group = job.ranks[rank].groups[call.group];
  return groups[is_pair(call.kind) ? pair_of.at(ends_of(job, rank, call)) : group];
}

}  // namespace lockstep
