/// @file
/// What a stage of a plan costs by its probes, against simulations of whole plans.

#include "search/plans/plan_judge.hpp"

#include <gtest/gtest.h>

#include <list>
#include <utility>

#include "tests/support/plan_scenarios.hpp"

namespace lockstep {
namespace {

using test::on_two_kinds;
using test::scenario;

/// Of the step of 4 layers and 2 micro-batches; what is in no pass is the optimizer, the norm of gradients
/// and the reductions. Backward has two products for each of forward's.
TEST(PlanJudge, ProbesTellWhatPassesTake) {
  PlanJudge judge{scenario(), ConfigPath::standard(), {}};
  PlanCandidate candidate;
  candidate.gpus = 4;
  candidate.micro_batch = 4;
  judge.prepare(candidate);
  const ProbeAnswer answer = judge.stages().answers(probe_of(candidate))[3];
  const auto& [layers, embedding, head] = answer.passes;
  const double all = layers.total() + embedding.total() + head.total();
  EXPECT_GT(all, 0.7 * answer.step);
  EXPECT_LT(all, answer.step);
  EXPECT_GT(answer.compute, 0.3 * answer.step);
  EXPECT_LT(answer.compute, answer.step);
  EXPECT_GT(layers.backward, 1.5 * layers.forward);
  EXPECT_LT(layers.backward, 2.5 * layers.forward);
  EXPECT_GT(head.total(), embedding.total());
  EXPECT_EQ(layers.weights, 0);
  candidate.plan.schedule = PipelineSchedule::ZeroBubble;
  candidate.plan.pipeline = 2;
  candidate.plan.tensor = 2;
  EXPECT_GT(judge.stages().answers(probe_of(candidate))[3].passes.layers.weights, 0);
}

double estimated_over_simulated(PlanJudge& judge, const PlanCandidate& candidate) {
  judge.prepare(candidate);
  std::list<StageCosts> costs;
  std::vector<const StageCosts*> of_stage;
  for (const StageProbe& probe : probes_of(candidate, judge.problem())) {
    of_stage.push_back(&costs.emplace_back(stage_costs(sizes_of(probe), judge.stages().answers(probe))));
  }
  const PlanEstimate found =
      estimate(candidate, CostsOfStages{std::move(of_stage)}, judge.estimate_input(candidate));
  return found.step.in_base_units() / judge.judge(candidate).step;
}

/// zero2 reduces the gradients of a large embedding between nodes after every micro-batch: a probe of two
/// layers cannot hide that, and would say that a layer costs hardly anything.
TEST(PlanJudge, EstimatesReductionsAfterEveryMicroBatch) {
  PlanJudge judge{
      YamlDocument::from_text("name: eight nodes\ncluster: dgx_h100 x 8\nworkload: { model: llama3_8b, "
                              "global_batch: 32, precision: bf16 }\nsteps: 2\n",
                              "nodes.yaml"),
      ConfigPath::standard(),
      {}};
  PlanCandidate candidate;
  candidate.plan.tensor = 8;
  candidate.plan.pipeline = 2;
  candidate.plan.sharding = Sharding::Zero2;
  candidate.plan.context = 2;
  candidate.gpus = 64;
  candidate.data = 2;
  candidate.micro_batches = 16;
  EXPECT_NEAR(estimated_over_simulated(judge, candidate), 1, 0.03);
}

/// Gradients that travel about as long as a backward pass computes: of 70 billion parameters, whose layers'
/// reductions take 82 % of the step on the NIC, four layers do not hide what eight do (9 % too fast).
TEST(PlanJudge, EstimatesReductionsThatFillTheNic) {
  PlanJudge judge{
      YamlDocument::from_text("name: many nodes\ncluster: dgx_h100 x 32\nworkload: { model: llama3_70b, "
                              "global_batch: 64, micro_batch: 2, precision: bf16 }\n"
                              "parallelism: { batch_p2p_sync: false }\nsteps: 2\n",
                              "nodes.yaml"),
      ConfigPath::standard(),
      {}};
  PlanCandidate candidate;
  candidate.plan.tensor = 8;
  candidate.plan.pipeline = 2;
  candidate.plan.context = 4;
  candidate.plan.batch_p2p_sync = false;
  candidate.plan.sharding = Sharding::Zero2;
  candidate.plan.recompute = Recompute::Full;
  candidate.gpus = 256;
  candidate.data = 4;
  candidate.micro_batch = 2;
  candidate.micro_batches = 8;
  EXPECT_NEAR(estimated_over_simulated(judge, candidate), 1, 0.01);
}

/// The second stage is on A100s, which take more than twice as long as the H100s of the first.
TEST(PlanJudge, EstimatesEachStageOnItsGpus) {
  PlanJudge judge{on_two_kinds(), ConfigPath::standard(), {}};
  PlanCandidate candidate;
  candidate.plan.pipeline = 2;
  candidate.plan.sharding = Sharding::Zero1;
  candidate.gpus = 16;
  candidate.data = 8;
  candidate.micro_batches = 8;
  EXPECT_NEAR(estimated_over_simulated(judge, candidate), 1, 0.03);
}

/// 20 GB on an A100 of 40 GB are as much of it as 40 on the H100s: the stage there is the fuller one.
TEST(PlanJudge, LevelsMemoryOfGpusOfSeveralSizes) {
  PlanJudge judge{on_two_kinds(), ConfigPath::standard(), {}};
  PlanCandidate candidate;
  candidate.plan.pipeline = 2;
  candidate.gpus = 16;
  candidate.data = 8;
  candidate.micro_batches = 8;
  judge.prepare(candidate);
  const auto whole = [&](double size) { return judge.whole_memory(Bytes{size}); };
  EXPECT_NEAR(judge.levelled(candidate, {Bytes{30e9}, Bytes{20e9}}) / whole(20e9), 1, 1e-9);
  const double share = judge.capacity() / judge.most_capacity();
  EXPECT_LT(share, 0.6);
  EXPECT_NEAR(judge.levelled(candidate, {Bytes{60e9}, Bytes{20e9}}) / (whole(60e9) * share), 1, 1e-9);
}

}  // namespace
}  // namespace lockstep
