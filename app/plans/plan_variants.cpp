#include "app/plans/plan_variants.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace lockstep {
namespace {

/// Estimates are of the plan without it.
FoundPlan variant_of(const PlanCandidate& candidate) {
  return {candidate, {Seconds{0}, Bytes{0}}, {}};
}

}  // namespace

std::vector<FoundPlan> with_overlap(const PlanProblem& problem, const PlanSpace& space,
                                    const std::vector<FoundPlan>& estimated,
                                    const std::vector<FoundPlan>& simulated) {
  std::vector<FoundPlan> known = estimated;
  for (FoundPlan& plan : known) {
    const auto found = std::ranges::find(simulated, plan.candidate, &FoundPlan::candidate);
    plan = found != simulated.end() ? *found : plan;
  }
  std::ranges::stable_sort(known, {}, [](const FoundPlan& plan) { return plan.figures().step; });
  std::vector<FoundPlan> variants;
  std::map<int, double> best;                              // by GPUs
  std::map<std::pair<int, int>, std::size_t> overlapping;  // by GPUs and degree
  for (const FoundPlan& plan : known) {
    const auto [gpus, degree] = std::pair{plan.candidate.gpus, plan.candidate.plan.tensor};
    const double least = best.try_emplace(gpus, plan.figures().step).first->second;
    std::size_t& count = overlapping[{gpus, degree}];
    if (count == kMostOverlapping || plan.figures().step > least * (1 + kOverlapGain)) {
      continue;
    }
    if (const auto other = with_tensor_overlap(plan.candidate, problem, space)) {
      variants.push_back(variant_of(*other));
      ++count;
    }
  }
  return variants;
}

std::vector<FoundPlan> with_offload(const std::vector<FoundPlan>& too_big) {
  std::vector<FoundPlan> plans;
  for (const FoundPlan& plan : too_big) {
    for (const Offload offload : {Offload::Optimizer, Offload::Parameters}) {
      FoundPlan other = variant_of(plan.candidate);
      other.candidate.plan.offload = offload;
      if (other.candidate.plan.casts_shares()) {  // DeepSpeed's host memory, not FSDP's
        other.candidate.plan.shard_copies = ShardCopies::None;
      }
      Sharding& sharding = other.candidate.plan.sharding;
      sharding = offload == Offload::Parameters ? Sharding::Zero3 : std::max(sharding, Sharding::Zero1);
      const bool can_be = sharding != Sharding::Zero3 || other.candidate.plan.pipeline == 1;
      const auto is_same = [&](const FoundPlan& known) { return known.candidate == other.candidate; };
      if (can_be && plan.candidate.plan.offload == Offload::None && std::ranges::none_of(plans, is_same)) {
        plans.push_back(other);
      }
    }
  }
  return plans;
}

}  // namespace lockstep
