#include "search/plans/plan_estimate.hpp"

#include <algorithm>
#include <numeric>
#include <tuple>

#include "ops/workload/parallel/parallel_plan.hpp"

namespace lockstep {
namespace {

/// Layers of each stage, over its chunks.
std::vector<double> layers_of_stages(const TransformerPlanSpec& plan, std::int64_t layers) {
  const std::vector<LayerRange> parts = layers_of_chunks(plan, layers);
  std::vector<double> of_stage(static_cast<std::size_t>(plan.pipeline));
  for (std::size_t part = 0; part < parts.size(); ++part) {
    of_stage[part % of_stage.size()] += static_cast<double>(parts[part].count);
  }
  return of_stage;
}

/// Costs of the parts of the pipeline. Gradients of weights that the probe did not put off take as long as
/// forward. Messages disturb the stages like the slowest one.
PipelineCosts pipeline_costs(const PlanCandidate& candidate, const CostsOfStages& costs,
                             const EstimateInput& input) {
  const TransformerPlanSpec& plan = candidate.plan;
  const std::vector<LayerRange> layers = layers_of_chunks(plan, input.layers);
  const auto stages = static_cast<std::size_t>(plan.pipeline);
  const StageCosts &first = costs[0], &last = costs[stages - 1], *slowest = &first;
  PipelineCosts parts;
  for (std::vector<double>* times : {&parts.forward, &parts.backward, &parts.weights, &parts.last}) {
    times->resize(layers.size());
  }
  const auto add = [&](std::size_t part, double work, const PhaseTimes& shares) {
    parts.forward[part] += work * shares.forward;
    parts.backward[part] += work * (shares.backward + shares.weights);
    parts.weights[part] += work * (shares.weights > 0 ? shares.weights : shares.forward);
  };
  for (std::size_t part = 0; part < layers.size(); ++part) {
    const StageCosts& of = costs[part % stages];
    const auto count = static_cast<double>(layers[part].count);
    add(part, count * of.layer_pass.in_base_units(), of.layer_shares);
    parts.last[part] = count * of.last_layer;
    slowest = of.layer_pass > slowest->layer_pass ? &of : slowest;
  }
  for (std::size_t stage = 0; stage < stages; ++stage) {
    parts.restart.push_back(costs[stage].restart.in_base_units());
  }
  parts.last.front() += first.last_embedding;
  parts.last.back() += last.last_head;
  add(0, first.pass.in_base_units(), first.embedding_shares);
  add(layers.size() - 1, last.pass.in_base_units(), last.head_shares);
  parts.messages = input.messages;
  parts.compute = slowest->compute;
  parts.interference = input.interference;
  return parts;
}

double states(const MemoryBreakdown& memory) {
  return memory[MemoryUse::Parameters] + memory[MemoryUse::Gradients] + memory[MemoryUse::Optimizer] +
         memory[MemoryUse::Communication];
}

/// Bytes of the fullest rank of each stage at one moment, with @p flying micro-batches in it.
std::vector<double> at_once(const PlanCandidate& candidate, const CostsOfStages& costs,
                            const EstimateInput& input, StageMemory StageCosts::*moment,
                            double (*flying)(const PlanCandidate&, int)) {
  const std::vector<double> layers = layers_of_stages(candidate.plan, input.layers);
  std::vector<double> of_stages(layers.size());
  for (std::size_t stage = 0; stage < layers.size(); ++stage) {
    const StageMemory& memory = costs[stage].*moment;
    const double kept = memory.of_layer[MemoryUse::Activations];
    const double layer = states(memory.of_layer) + memory.of_layer[MemoryUse::Workspace] +
                         flying(candidate, static_cast<int>(stage)) * kept;
    // Each end of a pipeline has a matrix of its own.
    const double end_states = states(memory.of_rest) / (layers.size() == 1 || input.tied ? 1 : 2);
    const double rest = memory.of_rest[MemoryUse::Activations] + memory.of_rest[MemoryUse::Workspace];
    const bool is_last = stage == layers.size() - 1;
    of_stages[stage] =
        (stage == 0 || is_last ? end_states : 0) + (is_last ? rest : 0) + layers[stage] * layer;
  }
  return of_stages;
}

}  // namespace

std::vector<Bytes> memory_of_stages(const PlanCandidate& candidate, const CostsOfStages& costs,
                                    const EstimateInput& input) {
  const std::vector<double> passes = at_once(candidate, costs, input, &StageCosts::pass_memory, in_flight);
  const std::vector<double> update = at_once(candidate, costs, input, &StageCosts::update_memory,
                                             [](const PlanCandidate&, int) { return 1.0; });
  std::vector<Bytes> most;
  for (std::size_t stage = 0; stage < passes.size(); ++stage) {
    most.emplace_back(std::max(passes[stage], update[stage]));
  }
  return most;
}

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

PlanEstimate estimate(const PlanCandidate& candidate, const CostsOfStages& costs,
                      const EstimateInput& input) {
  const std::vector<double> layers = layers_of_stages(candidate.plan, input.layers);
  const double passes =
      pipeline_time(candidate.plan, candidate.micro_batches, pipeline_costs(candidate, costs, input));
  double step = 0;
  for (std::size_t stage = 0; stage < layers.size(); ++stage) {
    const StageCosts& of = costs[stage];
    step = std::max(step, passes + layers[stage] * (of.layer.in_base_units() - of.last_layer) +
                              of.step.in_base_units() - of.last_embedding - of.last_head);
  }
  return {Seconds{step}, std::ranges::max(memory_of_stages(candidate, costs, input))};
}

/// The extra time of the last backward pass goes through all stages, at most.
Seconds least_step(Seconds estimated, const PlanCandidate& candidate, const CostsOfStages& relaxed,
                   const EstimateInput& input) {
  const std::vector<double> layers = layers_of_stages(candidate.plan, input.layers);
  double most = 0;
  for (std::size_t stage = 0; stage < layers.size(); ++stage) {
    const StageCosts& of = relaxed[stage];
    const double last = static_cast<double>(input.layers) * of.last_layer;
    most = std::max(
        most, layers[stage] * (of.layer.in_base_units() - of.last_layer) + last + of.step.in_base_units());
  }
  return estimated - Seconds{most};
}

std::vector<std::size_t> pareto_front(std::span<const PlanFigures> plans) {
  std::vector<std::size_t> order(plans.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t i) {  // nobody is beaten by one behind it
    return std::tuple{plans[i].step, plans[i].memory, plans[i].gpus};
  });
  std::vector<std::size_t> front;
  for (const std::size_t i : order) {
    const bool is_beaten = std::ranges::any_of(front, [&](std::size_t j) {
      return plans[j].memory <= plans[i].memory && plans[j].gpus <= plans[i].gpus;
    });
    if (!is_beaten) {
      front.push_back(i);
    }
  }
  return front;
}

}  // namespace lockstep
