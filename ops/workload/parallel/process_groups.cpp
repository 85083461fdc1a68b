#include "ops/workload/parallel/process_groups.hpp"

#include <array>
#include <stdexcept>

namespace lockstep {
namespace {

/// Sizes and values of tp, cp, dp and pp, and the places of a rank in the order of the plan.
RankPlace place_of(const ParallelPlan& plan, int rank) {
  RankPlace place;
  int rest = rank, in_stage = 0, stride = 1;
  for (std::size_t at = 0; at < plan.spec.rank_order.size(); at += 3) {
    const std::string part = plan.spec.rank_order.substr(at, 2);
    const int size = part == "tp"   ? plan.spec.tensor
                     : part == "cp" ? plan.spec.context
                     : part == "dp" ? plan.data
                                    : plan.spec.pipeline;
    int& value = part == "tp"   ? place.tensor
                 : part == "cp" ? place.context
                 : part == "dp" ? place.data
                                : place.stage;
    value = rest % size;
    rest /= size;
    if (part != "pp") {
      in_stage += value * stride;
      stride *= size;
    }
  }
  place.in_stage = in_stage;
  place.expert = in_stage / plan.spec.expert_tensor % plan.spec.expert;
  return place;
}

/// A number for a combination of small numbers.
std::uint64_t key_of(std::array<int, 4> parts) {
  std::uint64_t key = 0;
  for (const int part : parts) {
    key = key << 16U | static_cast<std::uint64_t>(part + 1);
  }
  return key;
}

constexpr int kAny = -1;

}  // namespace

PlanGroups::PlanGroups(const ParallelPlan& plan) : plan_{plan} {
  for (int rank = 0; rank < plan.ranks; ++rank) {
    places_.push_back(place_of(plan, rank));
    add_dense(static_cast<std::uint32_t>(rank));
    add_experts(static_cast<std::uint32_t>(rank));
  }
}

void PlanGroups::add(std::string_view kind, std::uint64_t key, std::uint32_t rank) {
  auto found = kinds_.find(kind);
  if (found == kinds_.end()) {
    found = kinds_.emplace(std::string{kind}, Kind{}).first;
    found->second.group_of_rank.resize(static_cast<std::size_t>(plan_.ranks));
  }
  found->second.group_of_rank[rank] = key;
  found->second.members[key].push_back(rank);
}

void PlanGroups::add_dense(std::uint32_t rank) {
  const auto& [tensor, context, data, stage, of_experts, in_stage] = places_[rank];
  add("tp", key_of({kAny, context, data, stage}), rank);
  add("cp", key_of({tensor, kAny, data, stage}), rank);
  add("tp_cp", key_of({kAny, kAny, data, stage}), rank);
  add("dp", key_of({tensor, kAny, kAny, stage}), rank);
  add("pp", key_of({tensor, context, data, kAny}), rank);
  add("mp", key_of({kAny, context, data, kAny}), rank);
  add("world", 0, rank);
  add("stage", key_of({kAny, kAny, kAny, stage}), rank);
  if (stage == 0 || stage + 1 == plan_.spec.pipeline) {
    add("embedding", key_of({tensor, context, data, kAny}), rank);
  }
  const int replica = data * plan_.spec.context + context;
  add("shard", key_of({tensor, replica / plan_.shard, kAny, stage}), rank);
  add("replica", key_of({tensor, kAny, replica % plan_.shard, stage}), rank);
}

void PlanGroups::add_experts(std::uint32_t rank) {
  const RankPlace& place = places_[rank];
  const int tensor = place.in_stage % plan_.spec.expert_tensor;
  const int data = place.in_stage / (plan_.spec.expert_tensor * plan_.spec.expert);
  add("etp", key_of({kAny, place.expert, data, place.stage}), rank);
  add("ep", key_of({tensor, kAny, data, place.stage}), rank);
  add("etp_ep", key_of({kAny, kAny, data, place.stage}), rank);
  add("edp", key_of({tensor, place.expert, kAny, place.stage}), rank);
  const int experts = place.expert * plan_.spec.expert_tensor + tensor;
  add("expert shard", key_of({experts, data / plan_.expert_shard, kAny, place.stage}), rank);
  add("expert replica", key_of({experts, kAny, data % plan_.expert_shard, place.stage}), rank);
}

const std::vector<std::uint32_t>& PlanGroups::members(std::string_view kind, std::uint32_t rank) const {
  const auto found = kinds_.find(kind);
  if (found == kinds_.end()) {
    throw std::logic_error{"a plan has no groups of kind '" + std::string{kind} + "'"};
  }
  return found->second.members.at(found->second.group_of_rank[rank]);
}

}  // namespace lockstep
