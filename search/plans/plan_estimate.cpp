#include "search/plans/plan_estimate.hpp"

#include <algorithm>
#include <numeric>

#include "ops/workload/parallel/parallel_plan.hpp"

namespace lockstep {
namespace {

/// Layers of each stage, over its chunks.
std::vector<double> layers_of_stages(const TransformerPlanSpec& plan, std::int64_t layers) {
  const std::vector<LayerRange> parts = split_layers(layers, plan.pipeline * plan.chunks);
  std::vector<double> of_stage(static_cast<std::size_t>(plan.pipeline));
  for (std::size_t part = 0; part < parts.size(); ++part) {
    of_stage[part % of_stage.size()] += static_cast<double>(parts[part].count);
  }
  return of_stage;
}

/// Of the time that a stage would wait with 1F1B, the share that it waits.
double bubble_share(const TransformerPlanSpec& plan) {
  if (plan.schedule == PipelineSchedule::Interleaved) {
    return 1.0 / plan.chunks;
  }
  if (plan.schedule != PipelineSchedule::ZeroBubble) {
    return 1;
  }
  const double again = plan.recompute == Recompute::Full ? 1 : 0;
  return (1 + again) / (3 + again);  // tf = tw = 1, tb = 1 + again
}

bool waits_for_sends(PipelineSchedule schedule) {
  return schedule == PipelineSchedule::OneFOneB || schedule == PipelineSchedule::GPipe;
}

double messages(const PlanCandidate& candidate, const EstimateInput& input) {
  const TransformerPlanSpec& plan = candidate.plan;
  if (plan.pipeline == 1) {
    return 0;
  }
  const double one = (input.message / input.link.bandwidth + input.link.latency).in_base_units();
  const double there_and_back = 2 * one;
  const double filling = there_and_back * (plan.pipeline - 1) * plan.chunks;
  return filling + (waits_for_sends(plan.schedule) ? there_and_back * candidate.micro_batches : 0);
}

double states(const MemoryBreakdown& memory) {
  return memory[MemoryUse::Parameters] + memory[MemoryUse::Gradients] + memory[MemoryUse::Optimizer] +
         memory[MemoryUse::Communication];
}

Bytes memory_of(const PlanCandidate& candidate, const StageCosts& costs, const EstimateInput& input,
                const std::vector<double>& layers) {
  const double layer_states = states(costs.layer_memory), base_states = states(costs.base_memory);
  const double kept = costs.layer_memory[MemoryUse::Activations];
  const double layer_workspace = costs.layer_memory[MemoryUse::Workspace];
  const double base_rest =
      costs.base_memory[MemoryUse::Activations] + costs.base_memory[MemoryUse::Workspace];
  const int stages = candidate.plan.pipeline;
  // Each end of a pipeline has a matrix of its own.
  const double end_states = stages == 1 || input.tied ? base_states : base_states / 2;
  double most = 0;
  for (int stage = 0; stage < stages; ++stage) {
    const bool is_last = stage == stages - 1;
    const double base = (stage == 0 || is_last ? end_states : 0) + (is_last ? base_rest : 0);
    most = std::max(most, base + layers[static_cast<std::size_t>(stage)] *
                                     (layer_states + layer_workspace + in_flight(candidate, stage) * kept));
  }
  return Bytes{most};
}

}  // namespace

double in_flight(const PlanCandidate& candidate, int stage) {
  const TransformerPlanSpec& plan = candidate.plan;
  const double all = candidate.micro_batches;
  const int behind = plan.pipeline - 1 - stage;
  switch (plan.schedule) {
    case PipelineSchedule::GPipe:
      return all;
    case PipelineSchedule::OneFOneB:
      return std::min(all, behind + 1.0);
    case PipelineSchedule::ZeroBubble:
      return std::min(all, static_cast<double>(plan.pipeline));
    case PipelineSchedule::Interleaved:
      break;
  }
  const int warm_up = 2 * behind + (plan.chunks - 1) * plan.pipeline;
  return candidate.micro_batches == plan.pipeline
             ? all
             : std::min(all, static_cast<double>(warm_up + 1) / plan.chunks);
}

PlanEstimate estimate(const PlanCandidate& candidate, const StageCosts& costs, const EstimateInput& input) {
  const std::vector<double> layers = layers_of_stages(candidate.plan, input.layers);
  std::vector<double> work;
  for (const double of_stage : layers) {
    work.push_back(of_stage * costs.layer_pass.in_base_units());
  }
  work.back() += costs.pass.in_base_units();
  const double longest = *std::ranges::max_element(work);
  const double filling = std::accumulate(work.begin(), work.end(), 0.0) - longest;
  const double most_layers = *std::ranges::max_element(layers);
  const double step = candidate.micro_batches * longest + bubble_share(candidate.plan) * filling +
                      messages(candidate, input) + most_layers * costs.layer.in_base_units() +
                      costs.step.in_base_units();
  return {Seconds{step}, memory_of(candidate, costs, input, layers)};
}

std::vector<std::size_t> pareto_front(std::span<const PlanFigures> plans) {
  const auto beats = [](const PlanFigures& a, const PlanFigures& b) {
    return a.step <= b.step && a.memory <= b.memory && a.gpus <= b.gpus &&
           (a.step < b.step || a.memory < b.memory || a.gpus < b.gpus);
  };
  const auto same = [](const PlanFigures& a, const PlanFigures& b) {
    return a.step == b.step && a.memory == b.memory && a.gpus == b.gpus;
  };
  std::vector<std::size_t> front;
  for (std::size_t i = 0; i < plans.size(); ++i) {
    bool is_beaten = false;
    for (std::size_t j = 0; j < plans.size() && !is_beaten; ++j) {
      is_beaten = beats(plans[j], plans[i]) || (j < i && same(plans[j], plans[i]));
    }
    if (!is_beaten) {
      front.push_back(i);
    }
  }
  std::ranges::stable_sort(front, {}, [&](std::size_t i) { return plans[i].step; });
  return front;
}

}  // namespace lockstep
