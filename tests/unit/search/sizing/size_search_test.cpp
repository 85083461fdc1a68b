#include "search/sizing/size_search.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/plan_scenarios.hpp"

namespace lockstep {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr Band kTenPercent{0.1, 0.2};

/// @param step s
ClusterSize sized(int gpus, double step, double days) {
  ClusterSize size;
  size.gpus = gpus;
  size.nodes = gpus / 8;
  size.plan = FoundPlan{};
  size.plan->candidate.gpus = gpus;
  size.plan->estimate.step = Seconds{step};
  size.band = kTenPercent;
  size.days = days;
  return size;
}

/// GPU seconds of a step: 80, 84 and 96. With a band of 10 % below, 84 x 0.9 = 75.6 is no more than 80, and
/// 96 x 0.9 = 86.4 is more.
SizeAnswer three_sizes() {
  SizeAnswer answer;
  answer.sizes = {sized(8, 10, 40), sized(16, 5.25, 21), sized(32, 3, 12)};
  return answer;
}

TEST(SizeChoice, TheFewestGpuSecondsAreTheCheapestAndTiesLieWithinItsBand) {
  SizeAnswer answer = three_sizes();
  choose(answer, std::nullopt);
  EXPECT_EQ(answer.best, 0U);
  EXPECT_EQ(answer.fastest, 2U);
  EXPECT_TRUE(answer.meets_deadline);
  EXPECT_THAT(answer.ties, ElementsAre(1));
}

TEST(SizeChoice, ADeadlineLeavesOutWhatIsTooSlow) {
  SizeAnswer answer = three_sizes();
  choose(answer, 30);
  EXPECT_EQ(answer.best, 1U);
  EXPECT_THAT(answer.ties, IsEmpty());  // 96 x 0.9 is more than 84
}

TEST(SizeChoice, WithoutASizeInTimeItIsTheFastest) {
  SizeAnswer answer = three_sizes();
  choose(answer, 10);
  EXPECT_EQ(answer.best, 2U);
  EXPECT_FALSE(answer.meets_deadline);
}

TEST(SizeChoice, SizesWithoutAPlanDoNotCount) {
  SizeAnswer answer = three_sizes();
  answer.sizes[0].plan.reset();
  answer.sizes[1].plan.reset();
  choose(answer, std::nullopt);
  EXPECT_EQ(answer.best, 2U);
  answer.sizes[2].plan.reset();
  choose(answer, std::nullopt);
  EXPECT_FALSE(answer.best);
}

SizeQuestion small_question() {
  SizeQuestion question;
  question.gpus = {8, 16};
  question.tokens = 1e9;
  question.space_of = [](const PlanProblem& problem) {
    PlanSpace space = usual_space(problem);
    space.tensor = {4};
    space.pipeline = {1};
    space.micro_batch = {1};
    space.sharding = {Sharding::Zero1};
    space.recompute = {Recompute::None};
    space.tensor_overlap = {false};
    return space;
  };
  return question;
}

/// A step of 16 samples of 1,024 tokens; 1e9 tokens at so many a second, 86,400 s a day; a price of 2 for a
/// GPU and hour.
TEST(SizeCluster, GrowsTheClusterByItsOwnNodes) {
  OpenedScenario scenario{"small.yaml", ConfigPath::standard(), test::scenario("price_per_gpu_hour: 2\n")};
  const SizeAnswer answer =
      size_cluster(scenario, small_question(), {std::nullopt, 2, 1, true}, Progress{true});
  ASSERT_EQ(answer.sizes.size(), 2U);
  for (const ClusterSize& size : answer.sizes) {
    ASSERT_TRUE(size.plan && size.plan->evaluation) << size.why_none;
    EXPECT_EQ(size.nodes, size.gpus / 8);
    EXPECT_EQ(size.evaluator->scenario().cluster->fabric().gpus().size(),
              static_cast<std::size_t>(size.gpus));
    const double per_second = 16 * 1024 / size.step();
    EXPECT_NEAR(*size.figures.tokens_per_s, per_second, 1e-6 * per_second);
    EXPECT_NEAR(*size.days, 1e9 / per_second / 86400, 1e-9);
    EXPECT_NEAR(*size.cost, *size.days * 24 * size.gpus * 2, 1e-6 * *size.cost);
    EXPECT_GT(*size.figures.mfu, 0);
    EXPECT_LT(*size.figures.mfu, 1);
  }
  EXPECT_LT(answer.sizes[1].step(), answer.sizes[0].step());
}

TEST(SizeCluster, SaysWhyASizeHasNoPlan) {
  SizeQuestion question = small_question();
  question.gpus = {16, 128};  // 128 GPUs are 32 replicas of 4 for a batch of 16
  OpenedScenario scenario{"small.yaml", ConfigPath::standard(), test::scenario()};
  const SizeAnswer answer = size_cluster(scenario, question, {std::nullopt, 2, 1, true}, Progress{true});
  EXPECT_TRUE(answer.sizes[0].plan);
  EXPECT_FALSE(answer.sizes[1].plan);
  EXPECT_THAT(answer.sizes[1].why_none, HasSubstr("do not divide"));
  EXPECT_EQ(answer.best, 0U);
}

}  // namespace
}  // namespace lockstep
