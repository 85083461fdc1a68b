#include "search/plans/plan_estimate.hpp"

#include <gmock/gmock.h>

namespace lockstep {
namespace {

using ::testing::ElementsAre;

/// n L 3 + n 5 + L 2 + 7 seconds; a layer has 10 bytes of parameters and keeps 4 of activations, the rest has
/// 6 of parameters and 20 of workspace.
double step_of(int layers, int micro_batches) {
  return micro_batches * layers * 3.0 + micro_batches * 5.0 + layers * 2.0 + 7.0;
}

const ProbeSizes kSizes = sizes_of({});

ProbeAnswers answers() {
  ProbeAnswers all{};
  for (std::size_t i = 0; i < all.size(); ++i) {
    const auto [layers, micro_batches, waits] = kSizes[i];
    EXPECT_EQ(waits, i == 4);
    all[i].step = step_of(layers, micro_batches);
    all[i].pass_memory[MemoryUse::Parameters] = 6 + 10.0 * layers;
    all[i].pass_memory[MemoryUse::Activations] = 4.0 * layers;
    all[i].pass_memory[MemoryUse::Workspace] = 20;
  }
  return all;
}

PlanCandidate plan(PipelineSchedule schedule, int stages, int micro_batches, int chunks = 1) {
  PlanCandidate candidate;
  candidate.plan.pipeline = stages;
  candidate.plan.schedule = schedule;
  candidate.plan.chunks = chunks;
  candidate.gpus = stages;
  candidate.micro_batches = micro_batches;
  return candidate;
}

/// Messages that take no time.
EstimateInput layers(std::int64_t count) {
  return {count, true, std::vector<PipelineMessage>(2), {}};
}

TEST(StageCosts, AreThoseOfTheProbes) {
  const StageCosts costs = stage_costs(kSizes, answers());
  EXPECT_DOUBLE_EQ(costs.layer_pass.in_base_units(), 3);
  EXPECT_DOUBLE_EQ(costs.pass.in_base_units(), 5);
  EXPECT_DOUBLE_EQ(costs.layer.in_base_units(), 2);
  EXPECT_DOUBLE_EQ(costs.step.in_base_units(), 7);
  EXPECT_DOUBLE_EQ(costs.pass_memory.of_layer[MemoryUse::Parameters], 10);
  EXPECT_DOUBLE_EQ(costs.pass_memory.of_rest[MemoryUse::Workspace], 20);
}

/// Two micro-batches, forward and back: four waits.
TEST(StageCosts, HaveARestartOfHostsThatWait) {
  ProbeAnswers probed = answers();
  EXPECT_EQ(stage_costs(kSizes, probed).restart, Seconds{0});
  probed[4].step += 4 * 0.25;
  EXPECT_DOUBLE_EQ(stage_costs(kSizes, probed).restart.in_base_units(), 0.25);
}

/// After every micro-batch zero2 reduces the gradients of embedding and head, too: its probes have more
/// layers to hide them.
TEST(StageCosts, OfZero2AreOfMoreLayers) {
  StageProbe probe;
  probe.plan.sharding = Sharding::Zero2;
  const ProbeSizes sizes = sizes_of(probe);
  EXPECT_GT(sizes.front().layers, kSizes.front().layers);
  ProbeAnswers probed{};
  for (std::size_t i = 0; i < probed.size(); ++i) {
    probed[i].step = step_of(sizes[i].layers, sizes[i].micro_batches);
  }
  const StageCosts costs = stage_costs(sizes, probed);
  EXPECT_DOUBLE_EQ(costs.layer_pass.in_base_units(), 3);
  EXPECT_DOUBLE_EQ(costs.step.in_base_units(), 7);
}

/// The estimate is the formula of the probes without a pipeline, at any size: 10 layers, 4 micro-batches.
TEST(PlanEstimate, WithoutAPipelineIsExactForWhatIsBilinear) {
  const PlanEstimate found =
      estimate(plan(PipelineSchedule::OneFOneB, 1, 4), stage_costs(kSizes, answers()), layers(10));
  EXPECT_DOUBLE_EQ(found.step.in_base_units(), step_of(10, 4));
  EXPECT_DOUBLE_EQ(found.memory.in_base_units(), 6 + 20 + 10 * (10 + 4));
}

/// While the optimizer runs, a layer holds 100 bytes and no activations: with few layers passes hold more
/// (the 20 of the rest's workspace), with many the update, whatever is in flight.
TEST(PlanEstimate, MemoryIsThatOfTheFullerMoment) {
  ProbeAnswers probe = answers();
  for (std::size_t i = 0; i < probe.size(); ++i) {
    probe[i].update_memory[MemoryUse::Parameters] = probe[i].pass_memory[MemoryUse::Parameters];
    probe[i].update_memory[MemoryUse::Workspace] = 90.0 * kSizes[i].layers;
  }
  const StageCosts costs = stage_costs(kSizes, probe);
  const auto memory = [&](std::int64_t count) {
    return memory_of_stages(plan(PipelineSchedule::OneFOneB, 1, 4), costs, layers(count))
        .front()
        .in_base_units();
  };
  EXPECT_DOUBLE_EQ(memory(10), 6 + 10 * (10 + 90));
  EXPECT_DOUBLE_EQ(costs.pass_memory.of_layer[MemoryUse::Activations], 4);
}

/// 12 s of layers, 5 of embedding and head in each of 6 micro-batches, in turn: nothing of 8 x 2 + 7 once a
/// step. What the last backward pass adds is not in it either.
TEST(PlanEstimate, LeastStepHasNothingThatHappensOnce) {
  StageCosts costs = stage_costs(kSizes, answers());
  const PlanCandidate whole = plan(PipelineSchedule::OneFOneB, 1, 6);
  const Seconds step = estimate(whole, costs, layers(8)).step;
  EXPECT_DOUBLE_EQ(least_step(step, whole, costs, layers(8)).in_base_units(), 6 * (8 * 3 + 5));
  costs.last_layer = 0.5;
  costs.last_head = 1;
  const PlanCandidate staged = plan(PipelineSchedule::OneFOneB, 2, 6);
  StageCosts without = costs;
  without.layer = without.step = Seconds{0};
  without.last_layer = without.last_head = 0;
  const Seconds least = least_step(estimate(staged, costs, layers(8)).step, staged, costs, layers(8));
  const Seconds left = estimate(staged, without, layers(8)).step;
  EXPECT_LE(least, left);
  EXPECT_GE(least, left - Seconds{8 * 0.5 + 1});
}

/// The last stage on GPUs that take twice as long: it works 6 x 2 x 17, the first fills the pipeline with 12;
/// once a step, the slow one's 2 x (4 x 2 + 7).
TEST(PlanEstimate, HasTheCostsOfEachStage) {
  const StageCosts fast = stage_costs(kSizes, answers());
  ProbeAnswers twice = answers();
  for (ProbeAnswer& answer : twice) {
    answer.step *= 2;
  }
  const StageCosts slow = stage_costs(kSizes, twice);
  const PlanEstimate found =
      estimate(plan(PipelineSchedule::OneFOneB, 2, 6), CostsOfStages{std::vector{&fast, &slow}}, layers(8));
  EXPECT_NEAR(found.step.in_base_units(), 6 * 2 * 17 + 12 + 2 * (4 * 2 + 7), 1e-9);
}

/// Two fast GPUs, then six slow ones: of 4 stages the first is on fast ones, of 2 the first has both. Where
/// stages are not in a row, each has slow ones.
TEST(StageProbe, IsOnTheSlowestGpusOfItsStage) {
  PlanProblem problem;
  PlanCandidate candidate = plan(PipelineSchedule::OneFOneB, 4, 4);
  candidate.gpus = 8;
  candidate.data = 2;
  const auto firsts = [&] {
    std::vector<int> first;
    for (const StageProbe& probe : probes_of(candidate, problem)) {
      first.push_back(probe.first);
    }
    return first;
  };
  EXPECT_THAT(firsts(), ElementsAre(0));  // alike
  problem.gpu_kinds = {0, 0, 1, 1, 1, 1, 1, 1};
  EXPECT_THAT(firsts(), ElementsAre(0, 2, 2, 2));
  candidate.plan.rank_order = "tp-cp-pp-dp";
  EXPECT_THAT(firsts(), ElementsAre(2, 2, 2, 2));
  candidate.plan = plan(PipelineSchedule::OneFOneB, 2, 4).plan;
  candidate.data = 4;
  EXPECT_THAT(firsts(), ElementsAre(0, 4));
  candidate.gpus = 2;
  candidate.data = 1;
  EXPECT_THAT(firsts(), ElementsAre(0, 0));
}

/// 8 layers in 2 stages: work of a micro-batch 4 x 3 = 12 in the first stage, 12 + 5 = 17 in the last. The
/// longest works 6 x 17; the other fills the pipeline once (12), with v chunks 1 / v of it, with ZB-H1 a
/// third: (tf + tb - tw) / (tf + tb + tw) of equal parts. Once a step: 4 x 2 + 7.
TEST(PlanEstimate, HasTheBubbleOfTheSchedule) {
  const StageCosts costs = stage_costs(kSizes, answers());
  const double busy = 6 * 17, once = 4 * 2 + 7;
  const auto step = [&](PipelineSchedule schedule, int chunks) {
    return estimate(plan(schedule, 2, 6, chunks), costs, layers(8)).step.in_base_units();
  };
  EXPECT_DOUBLE_EQ(step(PipelineSchedule::OneFOneB, 1), busy + 12 + once);
  EXPECT_DOUBLE_EQ(step(PipelineSchedule::GPipe, 1), busy + 12 + once);
  EXPECT_DOUBLE_EQ(step(PipelineSchedule::Interleaved, 2), busy + 6 + once);
  EXPECT_DOUBLE_EQ(step(PipelineSchedule::ZeroBubble, 1), busy + 4 + once);
}

/// A pass of 5 s has 2 for the embedding, 3 for the head: the first stage works 4 x 3 + 2, the last
/// 4 x 3 + 3.
TEST(PlanEstimate, HasEmbeddingAndHeadAtTheEnds) {
  ProbeAnswers probe = answers();
  probe[3].passes = {{1, 2, 0}, {0.5, 1.5, 0}, {1, 2, 0}};
  const StageCosts costs = stage_costs(kSizes, probe);
  const double step = estimate(plan(PipelineSchedule::OneFOneB, 2, 6), costs, layers(8)).step.in_base_units();
  EXPECT_DOUBLE_EQ(step, 6 * 15 + 14 + 4 * 2 + 7);
}

/// A message takes 3 s. The last of two stages waits 3 s for each of 6
/// micro-batches, meanwhile what it sends arrives; the first waits once more for the last gradient.
TEST(PlanEstimate, CountsMessages) {
  const PlanCandidate candidate = plan(PipelineSchedule::OneFOneB, 2, 6);
  const StageCosts costs = stage_costs(kSizes, answers());
  const EstimateInput input = layers(8);
  EstimateInput slow = input;
  slow.messages = {{3, 0}, {3, 0}};
  EXPECT_DOUBLE_EQ(
      (estimate(candidate, costs, slow).step - estimate(candidate, costs, input).step).in_base_units(),
      6 * 3 + 3);
}

/// Micro-batches whose activations a stage of 4 keeps, of 16: Megatron-LM's warm-up with 2 chunks is
/// 2 x 3 + 4 = 10 chunks on the first, 4 on the last, and one more begins: 11 and 5 halves.
TEST(PlanEstimate, KnowsWhatIsInFlight) {
  EXPECT_DOUBLE_EQ(in_flight(plan(PipelineSchedule::GPipe, 4, 16), 0), 16);
  EXPECT_DOUBLE_EQ(in_flight(plan(PipelineSchedule::OneFOneB, 4, 16), 0), 4);
  EXPECT_DOUBLE_EQ(in_flight(plan(PipelineSchedule::OneFOneB, 4, 16), 3), 1);
  EXPECT_DOUBLE_EQ(in_flight(plan(PipelineSchedule::OneFOneB, 4, 2), 0), 2);
  EXPECT_DOUBLE_EQ(in_flight(plan(PipelineSchedule::ZeroBubble, 4, 16), 3), 4);
  EXPECT_DOUBLE_EQ(in_flight(plan(PipelineSchedule::Interleaved, 4, 16, 2), 0), 5.5);
  EXPECT_DOUBLE_EQ(in_flight(plan(PipelineSchedule::Interleaved, 4, 16, 2), 3), 2.5);
}

/// 2 stages of 4 layers: the first keeps 2 micro-batches, 6 + 4 (10 + 2 x 4) = 78 B; the last one, and the
/// rest: 6 + 20 + 4 (10 + 4) = 82 B.
TEST(PlanEstimate, MemoryIsThatOfTheFullerEnd) {
  const StageCosts costs = stage_costs(kSizes, answers());
  EXPECT_DOUBLE_EQ(estimate(plan(PipelineSchedule::OneFOneB, 2, 6), costs, layers(8)).memory.in_base_units(),
                   82);
  EXPECT_DOUBLE_EQ(estimate(plan(PipelineSchedule::GPipe, 2, 6), costs, layers(8)).memory.in_base_units(),
                   6 + 20 + 4 * (10 + 6 * 4));
}

TEST(StageProbe, IsSharedByPlansThatDifferInSchedule) {
  const PlanCandidate one = plan(PipelineSchedule::OneFOneB, 2, 6);
  PlanCandidate other = plan(PipelineSchedule::Interleaved, 2, 6, 2);
  EXPECT_EQ(probe_of(one), probe_of(other));
  other.plan.recompute = Recompute::Full;
  EXPECT_NE(key_of(probe_of(one)), key_of(probe_of(other)));
  EXPECT_EQ(key_of(relaxed(probe_of(other), {})), key_of(probe_of(one)));
}

/// torchao's FP8 is written for parameters that are gathered: no probe goes without.
TEST(StageProbe, KeepsShardingWhereNothingGoesWithout) {
  PlanProblem problem;
  problem.model.implementation = Implementation::TorchTitan;
  problem.types = Precision::FP8;
  PlanCandidate candidate = plan(PipelineSchedule::OneFOneB, 1, 1);
  candidate.plan.sharding = Sharding::Zero3;
  EXPECT_EQ(relaxed(probe_of(candidate), problem).plan.sharding, Sharding::Zero3);
  problem.types = Precision::BF16;
  EXPECT_EQ(relaxed(probe_of(candidate), problem).plan.sharding, Sharding::None);
}

/// Gradients of weights hide messages, unless they are put off.
TEST(StageProbe, IsAnotherWhereWeightGradientsHideLess) {
  const PlanCandidate one = plan(PipelineSchedule::OneFOneB, 2, 6);
  const PlanCandidate apart = plan(PipelineSchedule::ZeroBubble, 2, 6);
  EXPECT_EQ(probe_of(apart).plan.schedule, PipelineSchedule::ZeroBubble);
  EXPECT_NE(key_of(probe_of(one)), key_of(probe_of(apart)));
}

TEST(ParetoFront, LeavesOutWhatIsBeaten) {
  const std::vector<PlanFigures> plans{{2, 5, 8}, {1, 9, 8}, {2, 6, 8}, {3, 5, 4}, {1, 9, 8}, {4, 4, 8}};
  EXPECT_THAT(pareto_front(plans), ElementsAre(1, 0, 3, 5));  // 2 is beaten by 0, 4 is 1 again
  EXPECT_THAT(pareto_front({}), ElementsAre());
}

}  // namespace
}  // namespace lockstep
