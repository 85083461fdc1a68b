#include "search/plans/plan_variants.hpp"

#include <gmock/gmock.h>

namespace lockstep {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

/// 8 layers of 8 heads on two nodes of 4 GPUs.
PlanProblem problem_of(Implementation implementation = Implementation::Megatron) {
  PlanProblem problem;
  problem.model.layers = 8;
  problem.model.hidden = 64;
  problem.model.heads = 8;
  problem.model.vocabulary = 128;
  problem.model.positions = problem.model.sequence = 32;
  problem.model.implementation = implementation;
  problem.global_batch = 8;
  problem.gpus = {8};
  problem.gpus_of_node = 4;
  return problem;
}

FoundPlan plan(int tensor, bool sequence_parallel, double step, std::int64_t micro_batch = 1) {
  FoundPlan found;
  found.candidate.plan.tensor = tensor;
  found.candidate.plan.sequence_parallel = sequence_parallel;
  found.candidate.gpus = 8;
  found.candidate.data = 8 / tensor;
  found.candidate.micro_batch = micro_batch;
  found.candidate.micro_batches = static_cast<int>(tensor / micro_batch);
  found.estimate = {Seconds{step}, Bytes{1}};
  return found;
}

std::vector<std::pair<int, std::int64_t>> of(const std::vector<FoundPlan>& plans) {
  std::vector<std::pair<int, std::int64_t>> told;
  for (const FoundPlan& found : plans) {
    EXPECT_TRUE(found.candidate.plan.tensor_overlap);
    EXPECT_FALSE(found.is_estimated());
    told.emplace_back(found.candidate.plan.tensor, found.candidate.micro_batch);
  }
  return told;
}

/// Messages of tensor parallelism that shares the tokens are hidden, inside a node, and where they could make
/// up for what the plan takes longer: not 1.3 s where the best takes 1.
TEST(WithOverlap, IsOfThoseThatHaveSomethingToHide) {
  const std::vector<FoundPlan> estimated{plan(1, false, 1),   plan(2, false, 1.01), plan(2, true, 1.02),
                                         plan(8, true, 1.05), plan(4, true, 1.1),   plan(4, true, 1.3, 2)};
  const PlanProblem problem = problem_of();
  EXPECT_THAT(of(with_overlap(problem, usual_space(problem), estimated, {})),
              ElementsAre(std::pair{2, 1}, std::pair{4, 1}));
  FoundPlan slower = estimated[2];
  slower.judgement = PlanJudgement{.step = 1.25};
  EXPECT_THAT(of(with_overlap(problem, usual_space(problem), estimated, {slower})),
              ElementsAre(std::pair{4, 1}));
}

/// One of degree 2 was simulated, and takes 0.9 of its plan's time: so the others are taken to. Of degree 4
/// nothing is known: all that hidden messages may gain.
TEST(OverlapTwins, TakeWhatIsKnownOfOthers) {
  const PlanProblem problem = problem_of();
  const PlanSpace space = usual_space(problem);
  const FoundPlan slow = plan(2, true, 3, 2), other = plan(4, true, 1.5);
  FoundPlan known = plan(2, true, 2);
  known.judgement = PlanJudgement{.step = 1, .levelled = 7};
  FoundPlan twin{*with_tensor_overlap(known.candidate, problem, space), {}, PlanJudgement{.step = 0.9}};
  const auto twins = overlap_twins(problem, space, {known, plan(1, false, 1), slow, other, twin});
  ASSERT_EQ(twins.size(), 3U);
  EXPECT_EQ(twins[0].plan.candidate, twin.candidate);
  EXPECT_DOUBLE_EQ(twins[0].figures.step, 0.9);
  EXPECT_EQ(twins[0].figures.memory, 7);
  EXPECT_DOUBLE_EQ(twins[1].figures.step, 2.7);
  EXPECT_EQ(twins[1].figures.memory, 1);
  EXPECT_DOUBLE_EQ(twins[2].figures.step, 1.5 / (1 + kOverlapGain));
}

TEST(WithOverlap, IsNotOfFrameworksOrChoicesWithoutIt) {
  const std::vector<FoundPlan> estimated{plan(2, true, 1)};
  const PlanProblem nanotron = problem_of(Implementation::Nanotron), problem = problem_of();
  EXPECT_THAT(with_overlap(nanotron, usual_space(nanotron), estimated, {}), IsEmpty());
  PlanSpace space = usual_space(problem);
  space.tensor_overlap = {false};
  EXPECT_THAT(with_overlap(problem, space, estimated, {}), IsEmpty());
}

/// 8 samples are 4 for each of two replicas: micro-batches of 2 after those of 1, and of 4, then none; 3
/// divide nothing.
TEST(LargerMicroBatches, DivideTheSamples) {
  const PlanProblem problem = problem_of();
  PlanSpace space = usual_space(problem);
  space.micro_batch = {4, 3, 2, 1};
  std::vector<FoundPlan> plans{plan(4, false, 1)};
  plans.front().judgement = PlanJudgement{.step = 1};
  for (const auto& [size, count] : {std::pair{2, 2}, std::pair{4, 1}}) {
    plans = with_larger_micro_batches(problem, space, plans);
    ASSERT_EQ(plans.size(), 1U);
    EXPECT_EQ(plans.front().candidate.micro_batch, size);
    EXPECT_EQ(plans.front().candidate.micro_batches, count);
    EXPECT_FALSE(plans.front().judgement);
  }
  EXPECT_THAT(with_larger_micro_batches(problem, space, plans), IsEmpty());
}

}  // namespace
}  // namespace lockstep
