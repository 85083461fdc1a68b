#include "search/plans/plan_variants.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

#include "search/plans/stage_balance.hpp"

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

namespace {

/// The GPUs and the degree of tensor parallelism, which say how much there is to hide.
std::pair<int, int> kind_of(const PlanCandidate& candidate) {
  return {candidate.gpus, candidate.plan.tensor};
}

/// Ratio of the twins' time to that of their plans as combinations have them: the mean, by kind.
std::map<std::pair<int, int>, double> shares_of_twins(const PlanProblem& problem, const PlanSpace& space,
                                                      const std::vector<FoundPlan>& known) {
  std::map<std::pair<int, int>, std::pair<double, int>> sums;
  for (const FoundPlan& twin : known) {
    const auto of = twin.evaluation ? with_tensor_overlap(twin.candidate, problem, space) : std::nullopt;
    const bool is_twin = of && !twin.is_estimated();
    const auto plan = is_twin ? std::ranges::find(known, *of, &FoundPlan::candidate) : known.end();
    if (plan != known.end()) {
      auto& [sum, count] = sums[kind_of(twin.candidate)];
      sum += twin.figures().step / plan->figures().step;
      ++count;
    }
  }
  std::map<std::pair<int, int>, double> shares;
  for (const auto& [kind, of] : sums) {
    shares[kind] = of.first / of.second;
  }
  return shares;
}

}  // namespace

std::vector<OverlapTwin> overlap_twins(const PlanProblem& problem, const PlanSpace& space,
                                       const std::vector<FoundPlan>& known) {
  const auto shares = shares_of_twins(problem, space, known);
  std::vector<OverlapTwin> twins;
  for (const FoundPlan& plan : known) {
    const auto twin =
        plan.is_estimated() ? with_tensor_overlap(plan.candidate, problem, space) : std::nullopt;
    if (twin) {
      const auto share = shares.find(kind_of(*twin));
      PlanFigures figures = plan.figures();
      figures.step *= share != shares.end() ? share->second : 1 / (1 + kOverlapGain);
      twins.push_back({variant_of(*twin), figures});
    }
  }
  return twins;
}

namespace {

/// A plan with even stages, and what others could make of it.
struct Balanceable {
  FoundPlan plan;
  double promise;  // s, hardly less
};

/// Time of a plan with even stages, if the memory were there.
Seconds estimated_step(const PlanEvaluator& evaluator, const CostsOfStages& costs, const FoundPlan& plan) {
  return plan.is_estimated() ? plan.estimate.step
                             : estimate(plan.candidate, costs, evaluator.estimate_input(plan.candidate)).step;
}

/// The plan with the stages that make it fastest, with its estimate; nothing where even ones are as good.
std::optional<FoundPlan> cut_well(const PlanEvaluator& evaluator, const PlanProbes& probes,
                                  const FoundPlan& even) {
  const CostsOfStages costs = probes.costs_of(even.candidate).value();
  const EstimateInput input = evaluator.estimate_input(even.candidate);
  const auto cut = with_balanced_stages(even.candidate, costs, input, [&](const std::vector<Bytes>& memory) {
    return evaluator.fullness(even.candidate, memory);
  });
  if (!cut) {
    return std::nullopt;
  }
  PlanEstimate figures = estimate(*cut, costs, input);
  figures.memory = evaluator.normalised_memory(*cut, memory_of_stages(*cut, costs, input));
  return FoundPlan{*cut, figures, {}};
}

}  // namespace

std::vector<FoundPlan> with_balanced_stages(const PlanEvaluator& evaluator, const PlanProbes& probes,
                                            const std::vector<FoundPlan>& estimated,
                                            const std::vector<FoundPlan>& beyond) {
  std::map<int, std::vector<Balanceable>> of_gpus;
  std::map<int, double> best;  // s, by GPUs: what even stages reach, or is promised
  const auto add = [&](const FoundPlan& plan) {
    double& least =
        best.try_emplace(plan.candidate.gpus, std::numeric_limits<double>::infinity()).first->second;
    const auto costs = probes.costs_of(plan.candidate);
    const Seconds even = estimated_step(evaluator, *costs, plan);
    const Seconds gain = most_gained(plan.candidate, *costs, evaluator.estimate_input(plan.candidate));
    if (gain > kWorthCutting * even || !plan.is_estimated()) {
      of_gpus[plan.candidate.gpus].push_back({plan, (even - gain).in_base_units()});
    }
    least = std::min(least, plan.is_estimated() ? even.in_base_units() : least);
  };
  std::ranges::for_each(estimated, add);
  for (const FoundPlan& plan : beyond) {
    const auto memory = memory_of_stages(plan.candidate, probes.costs_of(plan.candidate).value(),
                                         evaluator.estimate_input(plan.candidate));
    if (plan.candidate.plan.pipeline > 1 && evaluator.fullness(plan.candidate, memory) <= 1 + kMostBeyond) {
      add(plan);
    }
  }
  std::vector<FoundPlan> balanced;
  for (auto& [gpus, plans] : of_gpus) {
    std::ranges::stable_sort(plans, {}, &Balanceable::promise);
    plans.resize(std::min(plans.size(), kMostBalanced));
    for (const Balanceable& even : plans) {
      const auto cut = even.promise <= best[gpus] * (1 + kBalanceReach)
                           ? cut_well(evaluator, probes, even.plan)
                           : std::nullopt;
      if (cut) {
        best[gpus] = std::min(best[gpus], cut->figures().step);
        balanced.push_back(*cut);
      }
    }
  }
  return balanced;
}

std::string_view why_not_offloaded(const PlanProblem& problem) {
  if (problem.model.lora) {
    return "LoRA's adapters are not written with it";
  }
  return problem.types.is_pure() ? "DeepSpeed's optimizer has FP32 masters" : "";
}

std::vector<FoundPlan> with_offload(const PlanProblem& problem, const std::vector<FoundPlan>& too_big) {
  const std::optional<int>& group = problem.base.shard_group;
  std::vector<FoundPlan> plans;
  for (const FoundPlan& plan : too_big) {
    for (const Offload offload : {Offload::Optimizer, Offload::Parameters}) {
      FoundPlan other = variant_of(plan.candidate);
      other.candidate.plan.offload = offload;
      if (other.candidate.plan.is_fsdp()) {  // DeepSpeed's host memory, not FSDP's
        other.candidate.plan.zero3_implementation.reset();
      }
      Sharding& sharding = other.candidate.plan.sharding;
      sharding = offload == Offload::Parameters ? Sharding::Zero3 : std::max(sharding, Sharding::Zero1);
      other.candidate.plan.shard_group = group;
      const bool can_be = (sharding != Sharding::Zero3 || other.candidate.plan.pipeline == 1) &&
                          replicas_of(other.candidate) % group.value_or(1) == 0;
      const auto is_same = [&](const FoundPlan& known) { return known.candidate == other.candidate; };
      if (can_be && plan.candidate.plan.offload == Offload::None && std::ranges::none_of(plans, is_same)) {
        plans.push_back(other);
      }
    }
  }
  return plans;
}

std::vector<FoundPlan> with_larger_micro_batches(const PlanProblem& problem, const PlanSpace& space,
                                                 const std::vector<FoundPlan>& plans) {
  std::vector<std::int64_t> sizes = space.micro_batch;
  std::ranges::sort(sizes);
  std::vector<FoundPlan> larger;
  for (const FoundPlan& plan : plans) {
    FoundPlan other = variant_of(plan.candidate);
    PlanCandidate& candidate = other.candidate;
    const auto next = std::ranges::find_if(sizes, [&](std::int64_t size) {
      candidate.micro_batch = size;
      candidate.micro_batches = static_cast<int>(problem.global_batch / (size * candidate.data));
      return size > plan.candidate.micro_batch && problem.global_batch % (size * candidate.data) == 0 &&
             can_be(candidate, problem);
    });
    if (next != sizes.end()) {
      larger.push_back(other);
    }
  }
  return larger;
}

}  // namespace lockstep
