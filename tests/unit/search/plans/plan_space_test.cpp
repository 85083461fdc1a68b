#include "search/plans/plan_space.hpp"

#include <gmock/gmock.h>

#include <numeric>
#include <string>
#include <vector>

#include "search/plans/memory_bound.hpp"
#include "search/plans/plan_choices.hpp"

namespace lockstep {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

/// 8 layers of 4 heads on 4 GPUs, two to a node.
PlanProblem small() {
  PlanProblem problem;
  problem.model.layers = 8;
  problem.model.hidden = 64;
  problem.model.heads = 4;
  problem.model.vocabulary = 128;
  problem.model.positions = problem.model.sequence = 32;
  problem.model.implementation = Implementation::Megatron;
  problem.global_batch = 8;
  problem.gpus = {4};
  problem.gpus_of_node = 2;
  return problem;
}

PlanSpace one_choice_each(const PlanProblem& problem) {
  PlanSpace space = usual_space(problem);
  space.micro_batch = {1};
  space.sequence_parallel = {false};
  space.schedule = {PipelineSchedule::OneFOneB};
  space.sharding = {Sharding::None};
  space.recompute = {Recompute::None};
  return space;
}

std::uint64_t pruned(const PlanEnumeration& found) {
  return std::accumulate(found.pruned.begin(), found.pruned.end(), std::uint64_t{0},
                         [](std::uint64_t sum, const auto& entry) { return sum + entry.second; });
}

TEST(PlanSpace, HasDivisorsAndAllChoices) {
  const PlanSpace space = usual_space(small());
  EXPECT_THAT(space.tensor, ElementsAre(1, 2, 4));
  EXPECT_THAT(space.context, ElementsAre(1));  // attention is not flash
  EXPECT_THAT(space.expert, ElementsAre(1));
  EXPECT_THAT(space.micro_batch, ElementsAre(1, 2, 4, 8));
  EXPECT_EQ(space.sharding.size(), 4U);
}

TEST(PlanSpace, IsRestrictedByKey) {
  EXPECT_THAT(restricted(usual_space(small()), "tensor", {"2", "4"}).tensor, ElementsAre(2, 4));
  EXPECT_THAT(restricted(usual_space(small()), "schedule", {"1f1b"}).schedule,
              ElementsAre(PipelineSchedule::OneFOneB));
  EXPECT_FALSE(restricted(usual_space(small()), "stage_layers", {"even"}).has(StageDepths::Uneven));
  EXPECT_THAT(restricted(usual_space(small()), "sequence_parallel", {"true"}).sequence_parallel,
              ElementsAre(true));
  for (const auto& [key, value] : std::vector<std::pair<std::string, std::string>>{
           {"tensor", "0"}, {"schedule", "2f2b"}, {"tens", "1"}}) {
    EXPECT_THROW((void)restricted(usual_space(small()), key, {value}), std::invalid_argument) << key;
  }
}

/// The choices are told once, whether the key is like one of them or not.
TEST(PlanSpace, SaysOnceWhatIsSearched) {
  for (const std::string key : {"shard_group", "tensr"}) {
    try {
      (void)restricted(usual_space(small()), key, {"2"});
      FAIL() << key;
    } catch (const std::invalid_argument& problem) {
      const std::string text = problem.what();
      EXPECT_THAT(text, HasSubstr(" (searched: tensor, pipeline, "));
      EXPECT_EQ(text.find("micro_batch"), text.rfind("micro_batch")) << text;
    }
  }
}

/// t x p in {1, 2, 4}^2 on 4 GPUs: 6 of 9 products divide 4 (1x1, 1x2, 2x1, 1x4, 4x1, 2x2); t = 4 leaves the
/// node.
TEST(PlanSpace, KeepsTensorParallelismInTheNode) {
  const PlanEnumeration found = enumerate_plans(small(), one_choice_each(small()));
  EXPECT_EQ(found.combinations, 9U);
  EXPECT_EQ(found.pruned.at(Pruned::CannotBe), 3U);
  EXPECT_EQ(found.pruned.at(Pruned::BeyondNode), 1U);
  EXPECT_EQ(found.candidates.size(), 5U);
}

/// A plan leaves the node if asked to, or if 4 GPUs have one sample: 2 samples have a node of 2 GPUs each.
TEST(PlanSpace, LeavesTheNodeWhereThereIsReason) {
  PlanProblem problem = small();
  const PlanSpace usual = one_choice_each(problem), given = restricted(usual, "tensor", {"1", "2", "4"});
  EXPECT_EQ(enumerate_plans(problem, given).candidates.back().plan.tensor, 4);
  problem.global_batch = 2;
  EXPECT_EQ(enumerate_plans(problem, usual).pruned.at(Pruned::BeyondNode), 1U);
  problem.global_batch = 1;
  const PlanEnumeration found = enumerate_plans(problem, usual);
  EXPECT_EQ(found.pruned.count(Pruned::BeyondNode), 0U);
  EXPECT_EQ(found.candidates.back().plan.tensor, 4);
}

TEST(PlanSpace, EveryCombinationIsACandidateOrCounted) {
  const PlanProblem problem = small();
  const PlanEnumeration found = enumerate_plans(problem, usual_space(problem));
  EXPECT_EQ(found.combinations, found.candidates.size() + pruned(found));
  EXPECT_GT(found.candidates.size(), 0U);
  for (const PlanCandidate& candidate : found.candidates) {
    EXPECT_NO_THROW(candidate.plan.check());
    EXPECT_EQ(candidate.gpus, candidate.data * candidate.plan.tensor * candidate.plan.pipeline);
    EXPECT_EQ(problem.global_batch, candidate.micro_batch * candidate.micro_batches * candidate.data);
  }
}

/// GPipe goes only where 1F1B could be chosen; without a pipeline there is one schedule, without replicas
/// nothing to share.
TEST(PlanSpace, LeavesOutWhatIsNoBetter) {
  PlanProblem problem = small();
  problem.gpus = {2};
  PlanSpace space = one_choice_each(problem);
  space.tensor = {1};
  space.pipeline = {2};
  space.schedule = {PipelineSchedule::GPipe, PipelineSchedule::OneFOneB};
  space.sharding = {Sharding::None, Sharding::Zero1};
  const PlanEnumeration found = enumerate_plans(problem, space);
  EXPECT_EQ(found.pruned.at(Pruned::GPipe), 2U);        // by two shardings
  EXPECT_EQ(found.pruned.at(Pruned::SameAsOther), 1U);  // 1f1b with zero1: one replica
  ASSERT_EQ(found.candidates.size(), 1U);
  space.schedule = {PipelineSchedule::GPipe};
  EXPECT_EQ(enumerate_plans(problem, space).candidates.front().plan.schedule, PipelineSchedule::GPipe);
}

/// 40 layers in 4 stages of 10: 2 to 4 chunks of one or two layers more or less, 5 and 10 alike ones; 20 are
/// for the 20 layers of 2 stages.
TEST(PlanSpace, HasChunksThatDivideTheLayersOfAStage) {
  PlanProblem problem = small();
  problem.model.layers = 40;
  PlanSpace space = one_choice_each(problem);
  EXPECT_THAT(space.chunks, ElementsAre(2, 3, 4, 5, 10, 20));
  space.schedule = {PipelineSchedule::Interleaved};
  space.tensor = {1};
  space.pipeline = {4};
  std::vector<int> chunks;
  const PlanEnumeration found = enumerate_plans(problem, space);
  for (const PlanCandidate& candidate : found.candidates) {
    chunks.push_back(candidate.plan.chunks);
  }
  EXPECT_THAT(chunks, ElementsAre(2, 3, 4, 5, 10));
  EXPECT_EQ(found.pruned.at(Pruned::UnevenChunks), 1U);
  space = restricted(space, "chunks", {"7"});
  EXPECT_EQ(enumerate_plans(problem, space).candidates.size(), 1U);
}

/// Behind torch.compile logits that tensor-parallel ranks share need another loss; FP8 needs zero3.
TEST(PlanSpace, LeavesOutWhatTheFrameworkDoesNotRun) {
  PlanProblem problem = small();
  problem.model.implementation = Implementation::TorchTitan;
  problem.model.attention = AttentionKernels::Flash;
  problem.framework.compile = Compile::Inductor;
  problem.types = Precision::FP8;
  PlanSpace space = one_choice_each(problem);
  space.sequence_parallel = {true, false};
  space.sharding = {Sharding::None, Sharding::Zero3};
  space.pipeline = space.context = {1};
  const PlanEnumeration found = enumerate_plans(problem, space);
  ASSERT_EQ(found.candidates.size(), 1U);
  EXPECT_EQ(found.candidates.front().plan.tensor, 1);
  EXPECT_EQ(found.candidates.front().plan.sharding, Sharding::Zero3);
  std::vector<std::string> refused;
  for (const auto& [why, count] : found.refused) refused.push_back(why);
  EXPECT_THAT(refused, UnorderedElementsAre(HasSubstr("compiled_loss: eager"), HasSubstr("sharding: zero3"),
                                            HasSubstr("say 'sequence_parallel: true'")));
}

TEST(PlanCandidate, IsToldWithoutWhatIsUsual) {
  PlanCandidate candidate;
  candidate.data = 8;
  EXPECT_EQ(in_words(candidate), "tp 1 dp 8 pp 1, micro-batch 1");
  candidate.plan.pipeline = 2;
  candidate.plan.schedule = PipelineSchedule::Interleaved;
  candidate.plan.chunks = 3;
  candidate.plan.sharding = Sharding::Zero1;
  EXPECT_THAT(in_words(candidate), HasSubstr("pp 2, micro-batch 1, interleaved x 3, zero1"));
  candidate.plan.stage_layers = {4, 4, 4, 4, 3, 2};
  EXPECT_THAT(in_words(candidate), HasSubstr("interleaved x 3, layers 4x4-3-2, zero1"));
  candidate.plan.shard_group = 4;
  candidate.plan.recompute = Recompute::Full;
  candidate.plan.recompute_every = 2;
  EXPECT_THAT(in_words(candidate), HasSubstr("zero1 in groups of 4, recompute full of one in 2"));
}

/// torchtitan's models are sharded by fully_shard where the scenario does not say whose zero3 it is.
TEST(PlanSpace, NamesTheFrameworksOwnFsdp) {
  TransformerSpec llama;
  llama.implementation = Implementation::TorchTitan;
  const TransformerPlanSpec shared{.sharding = Sharding::Zero3};
  EXPECT_EQ(with_own_fsdp(shared, llama).zero3_implementation, Zero3Implementation::Fsdp2);
  EXPECT_EQ(with_own_fsdp({.sharding = Sharding::Zero1}, llama).zero3_implementation, std::nullopt);
  llama.implementation = Implementation::Megatron;
  EXPECT_EQ(with_own_fsdp(shared, llama).zero3_implementation, std::nullopt);
}

/// A scenario of FSDP is not answered with DeepSpeed's stages, but with FULL_SHARD and SHARD_GRAD_OP.
TEST(PlanSpace, StaysWithFsdp) {
  PlanProblem problem = small();
  problem.base.sharding = Sharding::Zero3;
  problem.base.zero3_implementation = Zero3Implementation::Fsdp;
  PlanSpace space = one_choice_each(problem);
  const PlanSpace usual = usual_space(problem);
  EXPECT_THAT(usual.sharding, ElementsAre(Sharding::Zero3));
  EXPECT_THAT(usual.reshard_after_forward, ElementsAre(true, false));
  space.tensor = space.pipeline = space.context = {1};
  space.sharding = {Sharding::None, Sharding::Zero3};
  const PlanEnumeration found = enumerate_plans(problem, space);
  EXPECT_EQ(found.combinations, 4U);
  EXPECT_EQ(found.pruned.at(Pruned::SameAsOther), 1U);  // none, with nothing to keep
  ASSERT_EQ(found.candidates.size(), 3U);
  EXPECT_EQ(found.candidates[0].plan.zero3_implementation, std::nullopt);
  EXPECT_THAT(in_words(found.candidates[1]), HasSubstr("zero3 (fsdp)"));
  EXPECT_THAT(in_words(found.candidates[2]), HasSubstr("zero3 (fsdp), parameters kept after forward"));
}

/// Groups that share are the scenario's, of every stage of ZeRO: 4 GPUs without tensor parallelism are 4, 2
/// and 1 replicas, with it 2 and 1; of one nothing is shared, and 2 are no multiple of 4.
TEST(PlanSpace, KeepsTheGroupThatShares) {
  PlanProblem problem = small();
  problem.base.sharding = Sharding::Zero1;
  problem.base.shard_group = 2;
  PlanSpace space = one_choice_each(problem);
  space.sharding = usual_space(problem).sharding;
  const PlanEnumeration found = enumerate_plans(problem, space);
  int sharing = 0;
  for (const PlanCandidate& candidate : found.candidates) {
    const bool shares = candidate.plan.sharding != Sharding::None;
    EXPECT_EQ(candidate.plan.shard_group, shares ? std::optional{2} : std::nullopt);
    sharing += shares ? 1 : 0;
  }
  EXPECT_EQ(sharing, 8);  // zero1 to zero3 of 4 replicas and of 2, zero1 and zero2 of 2 with a pipeline
  EXPECT_EQ(found.pruned.count(Pruned::ShardGroup), 0U);
  problem.base.shard_group = 4;
  const PlanEnumeration wider = enumerate_plans(problem, space);
  EXPECT_EQ(wider.pruned.at(Pruned::ShardGroup), 6U);
  EXPECT_EQ(wider.combinations, wider.candidates.size() + pruned(wider));
}

/// Two of 8 ranks share: half of the optimizer's states are on each, not an eighth.
TEST(MemoryBound, KnowsTheGroupThatShares) {
  const PlanProblem problem = small();
  PlanCandidate all{problem.base, 4, 4};
  all.plan.sharding = Sharding::Zero1;
  PlanCandidate two = all, none = all;
  two.plan.shard_group = 2;
  none.plan.sharding = Sharding::None;
  const auto bound = [&](const PlanCandidate& of) { return memory_bound(of, problem).in_base_units(); };
  EXPECT_NEAR((bound(none) - bound(two)) / (bound(none) - bound(all)), (1 - 1.0 / 2) / (1 - 1.0 / 4), 1e-9);
}

/// Options of zero3 or of shared tokens alone are left out where a candidate has neither.
TEST(PlanSpace, LeavesOptionsThatACandidateCannotHave) {
  PlanProblem problem = small();
  problem.base.sharding = Sharding::Zero3;
  problem.base.reduce_each_micro_batch = false;
  problem.base.sequence_parallel = true;
  problem.base.tensor = 2;
  problem.base.tensor_layers = TensorLayers::DTensor;
  PlanSpace space = one_choice_each(problem);
  space.sequence_parallel = {false, true};
  space.sharding = {Sharding::Zero1, Sharding::Zero3};
  const PlanEnumeration found = enumerate_plans(problem, space);
  EXPECT_FALSE(found.candidates.empty());
  for (const PlanCandidate& candidate : found.candidates) {
    const TransformerPlanSpec& plan = candidate.plan;
    EXPECT_EQ(plan.reduce_each_micro_batch, plan.sharding != Sharding::Zero3);
    EXPECT_EQ(plan.tensor_layers == TensorLayers::DTensor, plan.sequence_parallel);
  }
}

}  // namespace
}  // namespace lockstep
