#include "search/plans/least_gpus.hpp"

#include <algorithm>

#include "search/plans/memory_bound.hpp"

namespace lockstep {
namespace {

PlanSpace leanest_space(const PlanProblem& problem) {
  PlanSpace space = usual_space(problem);
  space.micro_batch = {1};
  space.schedule = {PipelineSchedule::OneFOneB};
  space.recompute = {Recompute::Full};
  space.reshard_after_forward = {space.reshard_after_forward.front()};
  return space;
}

/// The bound as if all stages had as many layers as the one that has most.
Bytes memory_of_fullest(const PlanCandidate& candidate, PlanProblem problem) {
  const std::int64_t stages = candidate.plan.pipeline;
  problem.model.layers = (problem.model.layers + stages - 1) / stages * stages;
  return memory_bound(candidate, problem);
}

}  // namespace

std::optional<int> least_gpus(PlanProblem problem, int more, const std::function<bool(Bytes)>& fits) {
  const int node = problem.gpus_of_node;
  for (int gpus = (more / node + 1) * node; gpus <= kMostGpus; gpus += node) {
    problem.gpus = {gpus};
    const PlanEnumeration all = enumerate_plans(problem, leanest_space(problem));
    const bool is_one = std::ranges::any_of(all.candidates, [&](const PlanCandidate& candidate) {
      return fits(memory_of_fullest(candidate, problem));
    });
    if (is_one) {
      return gpus;
    }
  }
  return std::nullopt;
}

}  // namespace lockstep
