#include "search/plans/stage_balance.hpp"

#include <gmock/gmock.h>

#include <algorithm>

namespace lockstep {
namespace {

using ::testing::ElementsAre;

/// A layer takes a third of that forward, and keeps 1 byte of activations.
StageCosts costs_of(double layer, double head = 0) {
  StageCosts costs;
  costs.layer_pass = Seconds{layer};
  costs.pass = Seconds{head};
  costs.layer_shares = costs.head_shares = {1.0 / 3, 2.0 / 3, 0};
  costs.pass_memory.of_layer[MemoryUse::Activations] = 1;
  return costs;
}

PlanCandidate plan(int stages, int micro_batches, int chunks = 1) {
  PlanCandidate candidate;
  candidate.plan.pipeline = stages;
  candidate.plan.chunks = chunks;
  candidate.plan.schedule = chunks > 1 ? PipelineSchedule::Interleaved : PipelineSchedule::OneFOneB;
  candidate.gpus = stages;
  candidate.micro_batches = micro_batches;
  return candidate;
}

/// Messages that take no time.
EstimateInput layers(std::int64_t count, int stages) {
  return {count, true, std::vector<PipelineMessage>(static_cast<std::size_t>(stages)), {}};
}

double any_fits(const std::vector<Bytes>&) {
  return 0;
}

/// The head takes as long as three layers: 9 on the stages without, 6 beside it.
TEST(BalancedStages, HaveFewerLayersBesideTheHead) {
  const StageCosts costs = costs_of(1, 3);
  const auto found = with_balanced_stages(plan(4, 32), costs, layers(33, 4), any_fits);
  EXPECT_THAT(found.value().plan.stage_layers, ElementsAre(9, 9, 9, 6));
}

/// The second stage's GPUs take twice as long: two thirds of the layers are on the first. Even stages work
/// 8 x 2 on each of 16 micro-batches, balanced ones 32/3 at best.
TEST(BalancedStages, HaveFewerLayersOnSlowerGpus) {
  const StageCosts fast = costs_of(1), slow = costs_of(2);
  const CostsOfStages both{std::vector{&fast, &slow}};
  const auto found = with_balanced_stages(plan(2, 16), both, layers(18, 2), any_fits);
  EXPECT_THAT(found.value().plan.stage_layers, ElementsAre(12, 6));
  EXPECT_NEAR(most_gained(plan(2, 16), both, layers(16, 2)).in_base_units(), 17 * (16 - 32.0 / 3), 1e-6);
}

/// Each chunk for itself: the last one, before the head, has fewer.
TEST(BalancedStages, AreCutByChunk) {
  const StageCosts costs = costs_of(1, 2);
  const auto found = with_balanced_stages(plan(2, 16, 2), costs, layers(14, 2), any_fits);
  EXPECT_THAT(found.value().plan.stage_layers, ElementsAre(4, 4, 4, 2));
}

/// Nothing where even ones are as good: alike stages, and without a pipeline.
TEST(BalancedStages, AreNoneWhereStagesAreAlike) {
  const StageCosts costs = costs_of(1);
  EXPECT_FALSE(with_balanced_stages(plan(4, 16), costs, layers(32, 4), any_fits));
  EXPECT_FALSE(with_balanced_stages(plan(1, 16), costs, layers(32, 1), any_fits));
  EXPECT_DOUBLE_EQ(most_gained(plan(1, 16), costs, layers(32, 1)).in_base_units(), 0);
  EXPECT_NEAR(most_gained(plan(4, 16), costs, layers(32, 4)).in_base_units(), 0, 1e-9);
}

/// The first of 2 stages keeps two micro-batches at once: 8 layers of 16, 16 bytes. With room for 12 it has
/// 6 layers, and the other 10.
TEST(BalancedStages, MakeRoomOnTheFullestStage) {
  const StageCosts costs = costs_of(1);
  const auto room = [](double bytes) {
    return [bytes](const std::vector<Bytes>& needed) {
      return std::ranges::max(needed).in_base_units() / bytes;
    };
  };
  const auto found = with_balanced_stages(plan(2, 16), costs, layers(16, 2), room(12));
  EXPECT_THAT(found.value().plan.stage_layers, ElementsAre(6, 10));
  EXPECT_FALSE(with_balanced_stages(plan(2, 16), costs, layers(16, 2), room(8)));
}

}  // namespace
}  // namespace lockstep
