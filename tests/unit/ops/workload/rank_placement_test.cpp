#include "ops/workload/rank_placement.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>

namespace lockstep {
namespace {

using ::testing::HasSubstr;

NodeSizes nodes_of(int nodes, int gpus) {
  return {nodes, gpus, gpus, nodes * gpus};
}

ParallelismSpec ranks_with(int ranks, const TransformerPlanSpec& plan) {
  ParallelismSpec parallelism;
  parallelism.ranks = ranks;
  parallelism.transformer = plan;
  return parallelism;
}

TransformerPlanSpec plan_of(int tensor, int context, int expert, int pipeline = 1) {
  TransformerPlanSpec plan;
  plan.tensor = tensor;
  plan.context = context;
  plan.expert = expert;
  plan.pipeline = pipeline;
  return plan;
}

int per_node(int ranks, const TransformerPlanSpec& plan, const NodeSizes& sizes) {
  return place_ranks(ranks_with(ranks, plan), sizes).per_node;
}

// 72 GPUs a node; a group of 64 leaves 8 of them, of 16 too (4 x 16), of 4, 8 or 9 none.
TEST(RankPlacement, GroupsStayInsideWhereTheyFit) {
  const NodeSizes racks = nodes_of(4, 72);
  EXPECT_EQ(per_node(256, plan_of(1, 1, 64), racks), 64);
  EXPECT_EQ(per_node(256, plan_of(2, 8, 1), racks), 64);
  EXPECT_EQ(per_node(256, plan_of(1, 1, 16), racks), 64);
  EXPECT_EQ(per_node(256, plan_of(8, 1, 1), racks), 72);
  EXPECT_EQ(per_node(256, plan_of(4, 1, 8), racks), 72);
  EXPECT_EQ(per_node(256, plan_of(1, 1, 1), racks), 72);
}

// Tensor groups of 5 and expert groups of 7 need 35 or 70 of 72.
TEST(RankPlacement, TakesTheCommonMultipleOfGroups) {
  EXPECT_EQ(per_node(140, plan_of(5, 1, 7), nodes_of(4, 72)), 70);
}

TEST(RankPlacement, NodesAreFilledWhereGroupsAreLargerOrNodesTooFew) {
  EXPECT_EQ(per_node(128, plan_of(1, 1, 128), nodes_of(4, 72)), 72);
  EXPECT_EQ(per_node(288, plan_of(1, 1, 32), nodes_of(4, 72)), 72);  // 4 x 64 are too few
  EXPECT_EQ(per_node(64, plan_of(1, 1, 64), nodes_of(4, 72)), 72);   // on one node
  EXPECT_EQ(per_node(16, plan_of(8, 1, 1), nodes_of(2, 8)), 8);
  EXPECT_EQ(per_node(16, plan_of(1, 1, 16), nodes_of(2, 8)), 8);
}

// Experts of 48 have no room: 6 x 48 are 288. Tensor groups of 5 have: 70.
TEST(RankPlacement, ExpertGroupsGiveWayFirst) {
  EXPECT_EQ(per_node(240, plan_of(5, 1, 48), nodes_of(4, 72)), 70);
}

TEST(RankPlacement, UnequalNodesAreFilled) {
  const RankPlacement placement = place_ranks(ranks_with(8, plan_of(3, 1, 1)), {2, 4, 8, 12});
  EXPECT_EQ(placement.per_node, 8);
  EXPECT_FALSE(placement.leaves_gpus());
}

// dp before pp: stages of 4 ranks are 8 apart. Groups of 8 experts span two data ranks' strides.
TEST(RankPlacement, BlocksFollowTheRankOrder) {
  TransformerPlanSpec plan = plan_of(2, 1, 8, 4);
  EXPECT_EQ(group_blocks(plan, 64).tensor, 2);
  EXPECT_EQ(group_blocks(plan, 64).expert, 8);
  plan.rank_order = "tp-cp-pp-dp";
  EXPECT_EQ(group_blocks(plan, 64).expert, 32);  // 2 x 4 stages, times 8 / 2
  plan.rank_order = "tp-cp-dp-pp";
  plan.context = 4;
  EXPECT_EQ(group_blocks(plan, 64).context, 8);
  EXPECT_EQ(group_blocks(plan_of(1, 1, 1), 64).expert, 1);
}

TEST(RankPlacement, WhatIsAskedForIsDone) {
  ParallelismSpec asked;
  asked.ranks_per_node = 3;
  const RankPlacement placement = place_ranks(asked, nodes_of(4, 8));
  EXPECT_EQ(placement.ranks, 12);
  EXPECT_TRUE(placement.leaves_gpus());
  asked.ranks = 13;
  EXPECT_THAT([&] { (void)place_ranks(asked, nodes_of(4, 8)); },
              ::testing::ThrowsMessage<std::invalid_argument>(
                  HasSubstr("with 3 on each of 4 nodes there is room for 12 ranks, not 13")));
  asked = {};
  asked.ranks_per_node = 9;
  EXPECT_THAT([&] { (void)place_ranks(asked, nodes_of(4, 8)); },
              ::testing::ThrowsMessage<std::invalid_argument>(HasSubstr("nodes have 8 GPUs")));
}

}  // namespace
}  // namespace lockstep
