#include "search/plans/stage_probe.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/parameters.hpp"
#include "ops/workload/parallel/framework_rules.hpp"

namespace lockstep {

StageProbe probe_of(const PlanCandidate& candidate) {
  StageProbe probe{candidate.plan, candidate.gpus / candidate.plan.pipeline, candidate.micro_batch};
  probe.plan.pipeline = 1;
  probe.plan.chunks = 1;
  // Weight gradients that are put off hide no messages of tensor parallelism, and fewer of the reductions.
  const bool puts_off = candidate.plan.schedule == PipelineSchedule::ZeroBubble;
  probe.plan.schedule = puts_off ? PipelineSchedule::ZeroBubble : PipelineSchedule::OneFOneB;
  probe.plan.recompute_last_stage = true;
  return probe;
}

namespace {

/// The first GPU of the stage's slowest row, in rows of as many GPUs as a stage has; of alike rows the first.
int first_of(const PlanCandidate& candidate, int stage, const std::vector<std::uint32_t>& kinds) {
  const int stages = candidate.plan.pipeline, stride = stage_stride(candidate);
  int slowest = -1;
  for (int rank = 0; rank < candidate.gpus; ++rank) {
    const bool is_slower =
        slowest < 0 || kinds[static_cast<std::size_t>(rank)] > kinds[static_cast<std::size_t>(slowest)];
    if (rank / stride % stages == stage && is_slower) {
      slowest = rank;
    }
  }
  const int gpus = candidate.gpus / stages;
  const int row = slowest / gpus * gpus;
  int first = 0;
  while (!std::equal(kinds.begin() + row, kinds.begin() + row + gpus, kinds.begin() + first)) {
    first += gpus;
  }
  return first;
}

}  // namespace

std::vector<StageProbe> probes_of(const PlanCandidate& candidate, const PlanProblem& problem) {
  const bool are_alike = problem.gpu_kinds.empty() || candidate.plan.pipeline == 1;
  std::vector<StageProbe> probes(
      are_alike ? std::size_t{1} : static_cast<std::size_t>(candidate.plan.pipeline), probe_of(candidate));
  for (std::size_t stage = 0; stage < probes.size() && !are_alike; ++stage) {
    probes[stage].first = first_of(candidate, static_cast<int>(stage), problem.gpu_kinds);
  }
  return probes;
}

std::string key_of(const StageProbe& probe) {
  const TransformerPlanSpec& plan = probe.plan;
  return fmt::format("{} {} gpus{} tp {} cp {} ep {} sp {} mb {} {}{} {}", name_of(plan.schedule), probe.gpus,
                     probe.first == 0 ? "" : fmt::format(" from {}", probe.first), plan.tensor, plan.context,
                     plan.expert, plan.sequence_parallel, probe.micro_batch, name_of(plan.sharding),
                     plan.reshard_after_forward ? "" : " kept", name_of(plan.recompute));
}

StageProbe relaxed(StageProbe probe, const PlanProblem& problem) {
  if (probe.plan.offload == Offload::None && !is_float8_of_torchao(problem.model, problem.types.precision)) {
    probe.plan.sharding = Sharding::None;
    probe.plan.shard_group.reset();
    probe.plan.reshard_after_forward = probe.plan.reduce_each_micro_batch = true;
    probe.plan.zero3_implementation.reset();
  }
  probe.plan.recompute = Recompute::None;
  probe.plan.recompute_every = 1;
  probe.plan.schedule = PipelineSchedule::OneFOneB;
  return probe;
}

namespace {

/// Forward, and twice that backward, where nothing is known.
constexpr PhaseTimes kThirds{1.0 / 3, 2.0 / 3, 0};

PhaseTimes shares_of(const PhaseTimes& times, double all) {
  return {times.forward / all, times.backward / all, times.weights / all};
}

/// Seconds that the last micro-batch's backward takes beside that of the others: of one micro-batch, less
/// what two take more.
double last_extra(const PhaseTimes& one, const PhaseTimes& two) {
  return std::max(0.0, 2 * (one.backward + one.weights) - (two.backward + two.weights));
}

/// @param more with so many layers beyond @p layers
StageMemory stage_memory(double layers, const MemoryBreakdown& fewer, double beyond,
                         const MemoryBreakdown& more) {
  StageMemory memory;
  for (std::size_t use = 0; use < kMemoryUses; ++use) {
    const double of_layer = std::max(0.0, (more.bytes[use] - fewer.bytes[use]) / beyond);
    memory.of_layer.bytes[use] = of_layer;
    memory.of_rest.bytes[use] = std::max(0.0, fewer.bytes[use] - layers * of_layer);
  }
  return memory;
}

}  // namespace

ProbeSizes sizes_of(const StageProbe& probe) {
  const int few = probe.plan.sharding == Sharding::Zero2 ? 8 : 2;
  return {{{few, 1}, {2 * few, 1}, {few, 2}, {2 * few, 2}, {few, 2, true}}};
}

StageCosts stage_costs(const ProbeSizes& sizes, const ProbeAnswers& answers) {
  const auto [first, second] = std::pair{sizes[0], sizes[3]};
  const double layers = second.layers - first.layers, passes = second.micro_batches - first.micro_batches;
  const double short_one = answers[0].step, long_one = answers[1].step;
  const double short_two = answers[2].step, long_two = answers[3].step;
  StageCosts costs;
  // The mixed difference, then what is left of each single one. Overlap can make a rest negative: it is none.
  const double layer_pass = ((long_two - short_two) - (long_one - short_one)) / (layers * passes);
  const double pass = (short_two - short_one) / passes - first.layers * layer_pass;
  const double layer = (long_one - short_one) / layers - first.micro_batches * layer_pass;
  const double rest =
      short_one - first.micro_batches * (first.layers * layer_pass + pass) - first.layers * layer;
  const double computing =
      ((answers[3].compute - answers[2].compute) - (answers[1].compute - answers[0].compute)) /
      (layers * passes);
  costs.layer_pass = Seconds{std::max(0.0, layer_pass)};
  costs.compute = layer_pass > 0 ? std::clamp(computing / layer_pass, 0.0, 1.0) : 1;
  costs.pass = Seconds{std::max(0.0, pass)};
  const auto& [of_layers, of_embedding, of_head] = answers[3].passes;
  const double ends = of_embedding.total() + of_head.total();
  costs.layer_shares = of_layers.total() > 0 ? shares_of(of_layers, of_layers.total()) : kThirds;
  costs.embedding_shares = ends > 0 ? shares_of(of_embedding, ends) : PhaseTimes{};
  costs.head_shares = ends > 0 ? shares_of(of_head, ends) : kThirds;
  costs.restart = Seconds{std::max(0.0, (answers[4].step - short_two) / (2 * sizes[4].micro_batches))};
  costs.layer = Seconds{std::max(0.0, layer)};
  costs.step = Seconds{std::max(0.0, rest)};
  const PassTimes &one = answers[1].passes, &two = answers[3].passes;
  costs.last_layer =
      std::min(costs.layer.in_base_units(), last_extra(one.layers, two.layers) / second.layers);
  costs.last_embedding = last_extra(one.embedding, two.embedding);
  costs.last_head = last_extra(one.head, two.head);
  for (double* end : {&costs.last_embedding, &costs.last_head}) {
    *end = std::min(*end, costs.step.in_base_units() / 2);
  }
  costs.pass_memory = stage_memory(first.layers, answers[0].pass_memory, layers, answers[1].pass_memory);
  costs.update_memory =
      stage_memory(first.layers, answers[0].update_memory, layers, answers[1].update_memory);
  return costs;
}

}  // namespace lockstep
