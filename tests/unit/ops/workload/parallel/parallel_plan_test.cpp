#include "ops/workload/parallel/parallel_plan.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ops/workload/parallel/process_groups.hpp"

namespace lockstep {
namespace {

TransformerSpec model() {
  TransformerSpec spec;
  spec.implementation = Implementation::Megatron;
  spec.layers = 8;
  spec.hidden = 1024;
  spec.heads = 16;
  spec.vocabulary = 50257;
  spec.positions = spec.sequence = 1024;
  return spec;
}

std::string refusal(const TransformerPlanSpec& plan, const TransformerSpec& spec, int ranks = 16,
                    std::int64_t batch = 64, int micro_batches = 4) {
  try {
    (void)make_plan(plan, spec, ranks, batch, micro_batches);
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "accepted";
}

TEST(SplitLayers, TheEndsHaveFewer) {
  const auto stages =
      split_layers(126, 16);  // Llama 3 405B: section 3.3.2 takes one from the first and the last
  EXPECT_EQ(stages.front().count, 7);
  EXPECT_EQ(stages.back().count, 7);
  for (std::size_t stage = 1; stage + 1 < stages.size(); ++stage) {
    EXPECT_EQ(stages[stage].count, 8);
  }
  EXPECT_EQ(stages.back().first + stages.back().count, 126);
}

TEST(ParallelPlan, WhatIsLeftIsDataParallel) {
  const ParallelPlan plan = make_plan({.tensor = 2, .pipeline = 4}, model(), 16, 64, 4);
  EXPECT_EQ(plan.data, 2);
  EXPECT_EQ(plan.micro_batch, 8);
}

TEST(ParallelPlan, SaysWhatDoesNotDivide) {
  TransformerSpec spec = model();
  EXPECT_EQ(refusal({.tensor = 3}, spec, 16),
            "16 GPUs are no multiple of tensor 3 x context 1 x pipeline 1 = 3 GPUs for one replica");
  EXPECT_EQ(refusal({.tensor = 2}, spec, 16, 60),
            "global_batch 60 cannot be divided evenly among 8 data-parallel replicas x 4 micro-batches");
  EXPECT_EQ(refusal({.pipeline = 16}, spec),
            "8 layers cannot fill 16 stages x 1 chunks: some would have none; 'stage_layers' says which");
  EXPECT_EQ(refusal({.expert = 2}, spec), "the model has no experts: 'expert' and 'expert_tensor' must be 1");
  spec.heads = 12;
  spec.head_size = 64;
  EXPECT_EQ(refusal({.tensor = 8}, spec), "12 heads cannot be divided among 8 tensor-parallel ranks");
}

TEST(ParallelPlan, StagesHaveTheLayersSaid) {
  const ParallelPlan plan = make_plan({.pipeline = 4, .stage_layers = {3, 0, 4, 1}}, model(), 4, 64, 4);
  std::vector<std::int64_t> first, count;
  for (int stage = 0; stage < 4; ++stage) {
    first.push_back(plan.layers_of(stage, 0).first);
    count.push_back(plan.layers_of(stage, 0).count);
  }
  EXPECT_THAT(first, ::testing::ElementsAre(0, 3, 3, 7));
  EXPECT_THAT(count, ::testing::ElementsAre(3, 0, 4, 1));
  const ParallelPlan chunked = make_plan(
      {.pipeline = 2, .schedule = PipelineSchedule::Interleaved, .chunks = 2, .stage_layers = {1, 3, 3, 1}},
      model(), 2, 64, 4);
  EXPECT_EQ(chunked.layers_of(0, 0).count, 1);
  EXPECT_EQ(chunked.layers_of(1, 0).count, 3);
  EXPECT_EQ(chunked.layers_of(0, 1).first, 4);
  EXPECT_EQ(chunked.layers_of(1, 1).count, 1);
  EXPECT_EQ(refusal({.pipeline = 2, .stage_layers = {3, 4}}, model()),
            "stage_layers has 7 layers, the model 8");
  EXPECT_EQ(refusal({.pipeline = 4, .stage_layers = {4, 4}}, model()),
            "stage_layers has 2 entries for 4 stages x 1 chunks");
}

TEST(PlanGroups, AreMegatrons) {  // the example of megatron/core/parallel_state.py: tensor 2, pipeline 4
  const ParallelPlan plan = make_plan({.tensor = 2, .pipeline = 4}, model(), 16, 64, 4);
  const PlanGroups groups{plan};
  using ::testing::ElementsAre;
  EXPECT_THAT(groups.members("tp", 3), ElementsAre(2, 3));
  EXPECT_THAT(groups.members("dp", 0), ElementsAre(0, 2));
  EXPECT_THAT(groups.members("dp", 15), ElementsAre(13, 15));
  EXPECT_THAT(groups.members("pp", 1), ElementsAre(1, 5, 9, 13));
  EXPECT_THAT(groups.members("mp", 0), ElementsAre(0, 1, 4, 5, 8, 9, 12, 13));
  EXPECT_THAT(groups.members("embedding", 12), ElementsAre(0, 12));
}

TEST(PlanGroups, ExpertsAreLaidOutOverTheRanksOfAStage) {
  TransformerSpec spec = model();
  spec.experts = ExpertsSpec{.count = 8, .per_token = 2, .feed_forward = 4096};
  const ParallelPlan plan = make_plan({.tensor = 2, .expert = 4, .sequence_parallel = true}, spec, 16, 64, 4);
  EXPECT_EQ(plan.expert_data, 4);
  const PlanGroups groups{plan};
  EXPECT_THAT(groups.members("ep", 5), ::testing::ElementsAre(4, 5, 6, 7));
  EXPECT_THAT(groups.members("edp", 5), ::testing::ElementsAre(1, 5, 9, 13));
}

/// Eight GPUs of a shard group hold two copies of the experts on four ranks each.
TEST(PlanGroups, ExpertsAreSharedWithinAShardGroup) {
  TransformerSpec spec = model();
  spec.experts = ExpertsSpec{.count = 8, .per_token = 2, .feed_forward = 4096};
  TransformerPlanSpec said{.tensor = 2, .expert = 4, .sequence_parallel = true, .sharding = Sharding::Zero1};
  said.shard_group = 4;
  const ParallelPlan plan = make_plan(said, spec, 16, 64, 4);
  EXPECT_EQ(plan.expert_shard, 2);
  const PlanGroups groups{plan};
  EXPECT_THAT(groups.members("expert shard", 5), ::testing::ElementsAre(1, 5));
  EXPECT_THAT(groups.members("expert replica", 5), ::testing::ElementsAre(5, 13));
  said.shard_group = 1;
  EXPECT_EQ(refusal(said, spec),
            "a shard_group of 1 with tensor 2 has 2 GPUs: no whole number of copies of the experts, each of "
            "which is on expert 4 x expert_tensor 1 = 4 GPUs");
}

TEST(PlanGroups, FollowTheRankOrder) {
  const ParallelPlan plan =
      make_plan({.tensor = 2, .pipeline = 4, .rank_order = "tp-cp-pp-dp"}, model(), 16, 64, 4);
  const PlanGroups groups{plan};
  EXPECT_THAT(groups.members("pp", 0), ::testing::ElementsAre(0, 2, 4, 6));
  EXPECT_THAT(groups.members("dp", 0), ::testing::ElementsAre(0, 8));
}

}  // namespace
}  // namespace lockstep
