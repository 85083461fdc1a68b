// The search against simulating everything, on a machine where that takes a second.

#include "search/plans/plan_search.hpp"

#include <gmock/gmock.h>

#include <set>

#include "app/plans/plan_text.hpp"
#include "base/yaml_reader.hpp"
#include "base/yaml_text.hpp"
#include "scenario/memory_demand.hpp"
#include "search/plans/memory_bound.hpp"
#include "search/plans/plan_variants.hpp"
#include "tests/support/plan_scenarios.hpp"

namespace lockstep {
namespace {

using test::on_two_kinds;
using test::scenario;
using ::testing::AllOf;
using ::testing::HasSubstr;

PlanSpace space_of(const PlanProblem& problem) {
  PlanSpace space = usual_space(problem);
  space.micro_batch = {1, 2};
  space.sequence_parallel = {false};
  space.schedule = {PipelineSchedule::OneFOneB};
  space.sharding = {Sharding::None, Sharding::Zero1};
  space.recompute = {Recompute::None, Recompute::Full};
  return space;
}

PlanSearchResult search(PlanEvaluator& evaluator, const PlanSpace& space, std::size_t keep) {
  return search_plans(evaluator, space, {std::nullopt, 2, keep}, Progress{true});
}

TEST(PlanSearch, FindsTheFastestOfAllPlans) {
  PlanEvaluator evaluator{scenario(), ConfigPath::standard(), {}};
  const PlanSpace space = space_of(evaluator.problem());
  const PlanSearchResult few = search(evaluator, space, 1), all = search(evaluator, space, 64);
  ASSERT_EQ(all.plans.size(), all.enumeration.candidates.size());  // everything was simulated
  ASSERT_LT(few.plans.size(), all.plans.size());
  EXPECT_EQ(few.plans.front().candidate, all.plans.front().candidate);
  EXPECT_EQ(few.plans.front().evaluation->step, all.plans.front().evaluation->step);
  const auto errors = all.estimate_errors();
  EXPECT_LT(errors.mean, 0.015);
  for (const FoundPlan& plan : all.plans) {
    EXPECT_LE(evaluator.whole_memory(memory_bound(plan.candidate, evaluator.problem())).in_base_units(),
              plan.figures().memory)
        << in_words(plan.candidate);
  }
  for (const FoundPlan& plan : all.plans) {  // memory too: what is estimated is what is counted
    EXPECT_NEAR(plan.figures().memory / plan.estimate.memory.in_base_units(), 1, 0.05)
        << in_words(plan.candidate);
  }
}

std::vector<PlanCandidate> front_candidates(const std::vector<FoundPlan>& plans) {
  std::vector<PlanFigures> figures;
  for (const FoundPlan& plan : plans) {
    figures.push_back(
        {plan.estimate.step.in_base_units(), plan.estimate.memory.in_base_units(), plan.candidate.gpus});
  }
  std::vector<PlanCandidate> front;
  for (const std::size_t i : pareto_front(figures)) {
    front.push_back(plans[i].candidate);
  }
  return front;
}

/// Stages that are left out are of plans that are neither among the fastest nor on the front.
TEST(PlanSearch, MissesNothingByWhatIsBeaten) {
  PlanEvaluator evaluator{scenario(), ConfigPath::standard(), {}};
  PlanSpace space = usual_space(evaluator.problem());
  space.schedule = {PipelineSchedule::OneFOneB};
  const PlanSearchResult few = search(evaluator, space, 2), all = search(evaluator, space, 1000);
  ASSERT_EQ(all.enumeration.pruned.count(Pruned::Beaten), 0U);
  ASSERT_GT(few.enumeration.pruned.at(Pruned::Beaten), 0U);
  EXPECT_LT(few.probes_run, all.probes_run);
  EXPECT_EQ(few.estimated[0].candidate, all.estimated[0].candidate);
  EXPECT_EQ(few.estimated[1].candidate, all.estimated[1].candidate);
  EXPECT_EQ(front_candidates(few.estimated), front_candidates(all.estimated));
  ASSERT_TRUE(few.left.empty());  // but as many plans are asked for here as are not simulated at once
  EXPECT_EQ(all.left.at(4) + kMostSimulated, all.estimated.size());
  EXPECT_THAT(plans_text(evaluator, all, 5),
              HasSubstr("on 4 GPUs the search ended with the 64 fastest by estimate"));
}

/// A probe without recomputation tells what a layer keeps: then the bound is closer, and still one.
TEST(MemoryBound, IsCloserWithAProbe) {
  PlanEvaluator evaluator{scenario(), ConfigPath::standard(), {}};
  for (const PlanCandidate& candidate :
       enumerate_plans(evaluator.problem(), space_of(evaluator.problem())).candidates) {
    evaluator.prepare(candidate);
    const StageProbe probe = relaxed(probe_of(candidate), evaluator.problem());
    const StageCosts costs = stage_costs(sizes_of(probe), evaluator.stages().answers(probe));
    const Bytes of_layer{costs.pass_memory.of_layer[MemoryUse::Activations]};
    const Bytes bound = memory_bound(candidate, evaluator.problem(), of_layer);
    EXPECT_GT(bound, memory_bound(candidate, evaluator.problem())) << in_words(candidate);
    const ResolvedScenario built = build(evaluator.document_of(candidate), ConfigPath::standard());
    EXPECT_LE(evaluator.whole_memory(bound), fullest_rank(built)->memory.total()) << in_words(candidate);
  }
}
/// Probes for the most GPUs serve the fewer.
TEST(PlanSearch, FindsTheBestOfEachNumberOfGpus) {
  PlanEvaluator evaluator{scenario(), ConfigPath::standard(), {2, 8}};
  const PlanSearchResult result = search(evaluator, space_of(evaluator.problem()), 1);
  EXPECT_TRUE(result.failures.empty());
  EXPECT_FALSE(result.has_gaps());
  for (const int gpus : {2, 8}) {
    PlanEvaluator alone{scenario(), ConfigPath::standard(), {gpus}};
    const auto best = std::ranges::find_if(
        result.plans, [&](const FoundPlan& plan) { return plan.candidate.gpus == gpus; });
    ASSERT_NE(best, result.plans.end()) << gpus;
    EXPECT_EQ(best->evaluation->step,
              search(alone, space_of(alone.problem()), 1).plans.front().evaluation->step)
        << gpus;
  }
}

PlanSpace only_two_kinds_of_plans(const PlanProblem& problem) {
  PlanSpace space = space_of(problem);
  space.tensor = {8};
  space.pipeline = space.context = {1};
  space.micro_batch = {1};
  return space;
}

YamlDocument with_nvls_on_two_nodes() {
  YamlDocument document = scenario("collectives: { all_reduce: nvls }\n");
  document.set("cluster", "dgx_h100 x 2");
  return document;
}

/// NVLS adds in the switches of one node: the gradients of 16 GPUs cannot be reduced so, those of 8 can.
TEST(PlanSearch, SaysWhatItDoesNotKnow) {
  PlanEvaluator evaluator{with_nvls_on_two_nodes(), ConfigPath::standard(), {8, 16}};
  const PlanSearchResult result = search(evaluator, only_two_kinds_of_plans(evaluator.problem()), 64);
  EXPECT_TRUE(result.has_gaps());
  EXPECT_GT(result.failed_probes, 0U);
  EXPECT_GT(result.not_estimated, 0U);
  for (const FoundPlan& plan : result.plans) {
    EXPECT_EQ(plan.candidate.gpus, 8);
  }
  EXPECT_THAT(plans_text(evaluator, result, 5),
              AllOf(HasSubstr("incomplete: "), HasSubstr("nvls needs all members behind")));
  const std::string json = plans_json(evaluator, result, 5);
  EXPECT_THAT(json, AllOf(HasSubstr("\"complete\": false"), HasSubstr("nvls needs all members behind"),
                          HasSubstr("\"not_estimated_for_failures\": ")));
}

/// All of 16 GPUs fail: estimates that no simulation bears out are no answer.
TEST(PlanSearch, HasNoPlanWhereAllSimulationsFail) {
  PlanEvaluator evaluator{with_nvls_on_two_nodes(), ConfigPath::standard(), {16}};
  const PlanSearchResult result = search(evaluator, only_two_kinds_of_plans(evaluator.problem()), 64);
  EXPECT_TRUE(result.plans.empty());
  EXPECT_TRUE(result.has_gaps());
  EXPECT_TRUE(best_plans(result, 5).empty());
  EXPECT_THAT(nothing_built_text(evaluator, result), HasSubstr("no plan was built: simulations failed"));
}

/// Two pipeline stages, one on each node: with more layers on the H100s a step takes a quarter less, and more
/// memory there than the A100s have. Of 8 GPUs all are alike.
TEST(PlanSearch, GivesSlowerGpusFewerLayers) {
  PlanEvaluator evaluator{on_two_kinds(), ConfigPath::standard(), {8, 16}};
  PlanSpace space = space_of(evaluator.problem());
  space.tensor = space.context = space.expert = {1};
  space.pipeline = {2};
  space.micro_batch = {1};
  space.sharding = {Sharding::Zero1};
  space.recompute = {Recompute::None};
  const PlanSearchResult both = search(evaluator, space, 8);
  EXPECT_TRUE(both.failures.empty());
  const FoundPlan& best = both.plans.front();
  ASSERT_EQ(best.candidate.plan.stage_layers.size(), 2);
  EXPECT_EQ(best.candidate.gpus, 16);
  EXPECT_GE(best.candidate.plan.stage_layers[0], 2 * best.candidate.plan.stage_layers[1]);
  EXPECT_NEAR(best.estimate.step.in_base_units() / best.evaluation->step, 1, 0.05);
  const auto even = std::ranges::find_if(both.plans, [](const FoundPlan& plan) {
    return plan.candidate.gpus == 16 && plan.candidate.plan.stage_layers.empty();
  });
  ASSERT_NE(even, both.plans.end());
  EXPECT_LT(best.evaluation->step, 0.75 * even->evaluation->step);
  EXPECT_NE(plan_text(evaluator, best.candidate).find("stage_layers: ["), std::string::npos);
}

/// Stages that the scenario cuts by hand are those of its own plan alone.
TEST(PlanSearch, StagesSaidAreOfTheScenariosOwnPlan) {
  PlanEvaluator evaluator{scenario("", "pipeline: 2, stage_layers: [5, 3]"), ConfigPath::standard(), {}};
  PlanSpace space = space_of(evaluator.problem());
  space.sharding = {Sharding::None};
  space.recompute = {Recompute::None};
  space.stage_layers = {StageDepths::Even};
  const PlanSearchResult all = search(evaluator, space, 64);
  EXPECT_EQ(all.plans.size(), all.enumeration.candidates.size());
  for (const FoundPlan& plan : all.plans) {
    EXPECT_TRUE(plan.candidate.plan.stage_layers.empty());
  }
}

TEST(PlanSearch, SaysTheSameTwice) {
  PlanEvaluator evaluator{scenario(), ConfigPath::standard(), {}};
  const PlanSpace space = space_of(evaluator.problem());
  EXPECT_EQ(plans_json(evaluator, search(evaluator, space, 3), 3),
            plans_json(evaluator, search(evaluator, space, 3), 3));
}

TEST(PlanSearch, APlanIsAScenarioThatTakesItsStepTime) {
  PlanEvaluator evaluator{scenario(), ConfigPath::standard(), {}};
  const PlanSearchResult found = search(evaluator, space_of(evaluator.problem()), 1);
  const FoundPlan& best = found.plans.front();
  const auto document = YamlDocument::from_text(evaluator.effective(best.candidate), "plan_1.yaml");
  const ResolvedScenario resolved = build(document, ConfigPath::standard());
  EXPECT_EQ(predict(resolved, nullptr, EngineMode::Bare).mean_step().in_base_units(), best.evaluation->step);
  EXPECT_THAT(plans_text(evaluator, found, 1), HasSubstr(plan_text(evaluator, best.candidate)));
  EXPECT_THAT(plans_svg(evaluator, found), HasSubstr("</svg>"));
}

/// The line has the scenario's values of keys that are not searched, too, in the plans' form.
TEST(PlanSearch, TheLineIsThePlan) {
  const PlanEvaluator evaluator{
      scenario(
          "",
          "pipeline: 2, scatter_gather: true, overlap_p2p: false, batch_p2p_sync: false, "
          "context_attention: all_gather, sharding: zero1, shard_group: 2, prefetch: 2, "
          "recompute: full, recompute_every: 2, "
          "recompute_last_stage: false, recompute_early_stop: true, overlap_gradients: false, "
          "fp32_gradients: false, average_in_collective: true, fuse_weight_gradients: false, "
          "overlap_input_gradients: false, rank_order: tp-pp-dp-cp, bucket: 40 MiB, first_bucket: 2 MiB"),
      ConfigPath::standard(),
      {}};
  const PlanEnumeration found = enumerate_plans(evaluator.problem(), usual_space(evaluator.problem()));
  ASSERT_FALSE(found.candidates.empty());
  std::set<int> groups;
  for (const PlanCandidate& candidate : found.candidates) {
    const auto line = YamlDocument::from_text("{ " + plan_text(evaluator, candidate) + " }", "line");
    const auto spec =
        read_text<ParallelismSpec>(flow_text(line.root().find("parallelism")->value), "parallelism");
    EXPECT_EQ(spec, evaluator.parallelism_of(candidate));
    EXPECT_EQ(spec.transformer, candidate.plan);
    EXPECT_EQ(spec, read_document<ScenarioSpec>(evaluator.document_of(candidate)).parallelism);
    groups.insert(spec.transformer.shard_group.value_or(0));
  }
  EXPECT_THAT(groups, ::testing::ElementsAre(0, 2));
}

/// Every plan of the front that could hide its messages was simulated doing so.
TEST(PlanSearch, TheFrontIsNotBeatenByItsOverlap) {
  PlanEvaluator evaluator{scenario(), ConfigPath::standard(), {}};
  PlanSpace space = space_of(evaluator.problem());
  space.tensor = {2, 4};
  space.sequence_parallel = {true};
  space.micro_batch = {1, 2, 4};
  const PlanSearchResult found = search(evaluator, space, 1);
  std::size_t hide = 0;
  for (const FoundPlan& plan : found.front) {
    const auto twin = with_tensor_overlap(plan.candidate, evaluator.problem(), space);
    ASSERT_TRUE(twin);
    EXPECT_TRUE(plan.candidate.plan.tensor_overlap ||
                std::ranges::find(found.plans, *twin, &FoundPlan::candidate) != found.plans.end());
    hide += plan.candidate.plan.tensor_overlap ? 1 : 0;
  }
  EXPECT_GT(hide, kMostOverlapping);
}

/// Three GPU counts: one replica more takes less time and is on the front with the others.
TEST(PlanSearch, GpusAreOnTheFront) {
  PlanEvaluator evaluator{scenario(), ConfigPath::standard(), {1, 2, 4}};
  const PlanSearchResult found = search(evaluator, space_of(evaluator.problem()), 1);
  std::set<int> gpus;
  for (const FoundPlan& plan : found.front) {
    gpus.insert(plan.candidate.gpus);
  }
  EXPECT_THAT(gpus, ::testing::ElementsAre(1, 2, 4));
}

TEST(PlanSearch, SaysOnHowManyGpusTheOwnPlanIs) {
  PlanEvaluator evaluator{scenario(), ConfigPath::standard(), {2}};
  const PlanSearchResult found = search(evaluator, space_of(evaluator.problem()), 1);
  EXPECT_THAT(plans_text(evaluator, found, 1), HasSubstr("the scenario's own plan is on 4 GPUs: "));
  EXPECT_THAT(plans_text(evaluator, found, 1), HasSubstr("; the best here on 2: "));
}

/// Memory that is close to all of a GPU's is reported, where it is and in a line.
TEST(PlanSearch, SaysWhatIsTight) {
  PlanEvaluator evaluator{scenario(), ConfigPath::standard(), {}};
  PlanSearchResult found = search(evaluator, space_of(evaluator.problem()), 1);
  EXPECT_THAT(plans_text(evaluator, found, 1), ::testing::Not(HasSubstr("tight")));
  PlanEvaluation& best = found.plans.front().evaluation.value();
  best.capacity = best.memory.total().in_base_units() / 0.96;
  EXPECT_THAT(plans_text(evaluator, found, 1), HasSubstr("(96 %, tight)"));
  EXPECT_THAT(plans_text(evaluator, found, 1), HasSubstr("\ntight: above 95 % of the GPU's memory"));
}

TEST(PlanSearch, SaysWhichNumbersOfGpusCanBe) {
  try {
    const PlanEvaluator evaluator{scenario(), ConfigPath::standard(), {0}};
    FAIL();
  } catch (const std::invalid_argument& problem) {
    EXPECT_STREQ(problem.what(), "0 GPUs were asked for: at least 1, at most the cluster's 8");
  }
}

/// The fullest of 11 stages has 9 of 96 layers of 1.8 billion parameters on 8 GPUs, and an embedding of 0.6.
/// That is 34 GB with 16 bytes each, 37 with fragmentation and context, of 42.9. The fullest of 10 stages has
/// 10 layers: 42, and activations.
TEST(PlanSearch, SaysHowManyGpusWouldDo) {
  YamlDocument document = YamlDocument::from_text(
      "name: large\ncluster: dgx_a100\nworkload: { model: gpt3_175b, global_batch: 64, precision: bf16 }\n"
      "steps: 1\n",
      "large.yaml");
  PlanEvaluator evaluator{std::move(document), ConfigPath::standard(), {}};
  const PlanSearchResult found = search(evaluator, space_of(evaluator.problem()), 1);
  ASSERT_FALSE(found.too_big.empty());
  const std::string text = no_plan_text(evaluator, found);
  EXPECT_THAT(text, HasSubstr("more GPUs in the cluster: 88, as estimated (11 nodes of 8)"));
  EXPECT_THAT(text, ::testing::Not(HasSubstr("offload")));
}

TEST(PlanSearch, SaysWhatHoldsTheMemoryWhereNothingFits) {
  YamlDocument document = scenario("memory: { context: 38 GiB }\n");
  PlanEvaluator evaluator{std::move(document), ConfigPath::standard(), {2}};
  const PlanSearchResult found = search(evaluator, space_of(evaluator.problem()), 1);
  EXPECT_TRUE(found.plans.empty());
  ASSERT_FALSE(found.too_big.empty());
  const std::string text = no_plan_text(evaluator, found);
  EXPECT_THAT(text, HasSubstr("CUDA context"));
  EXPECT_THAT(text, HasSubstr("What would make it fit:\n  GPUs with at least"));
  EXPECT_THAT(text, HasSubstr("--gpus 8"));
}

}  // namespace
}  // namespace lockstep
