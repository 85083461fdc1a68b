#include "ops/workload/parallel/pipeline_schedule.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <ostream>
#include <set>
#include <tuple>

namespace lockstep {
namespace {

using Kind = StageAction::Kind;

struct Case {
  PipelineSchedule schedule;
  int stages, micro_batches, chunks;
};

void PrintTo(const Case& of, std::ostream* out) {
  *out << name_of(of.schedule) << ", " << of.stages << " stages, " << of.micro_batches << " micro-batches, "
       << of.chunks << " chunks";
}

class Schedules : public ::testing::TestWithParam<Case> {};

TEST_P(Schedules, DoEverythingOnceAndBackwardAfterForward) {
  const auto [schedule, stages, micro_batches, chunks] = GetParam();
  for (int stage = 0; stage < stages; ++stage) {
    std::set<std::tuple<Kind, int, int>> done;
    for (const StageAction& action : stage_actions(schedule, stages, stage, micro_batches, chunks)) {
      EXPECT_TRUE(done.emplace(action.kind, action.micro_batch, action.chunk).second);
      if (action.kind != Kind::Forward) {
        const Kind before = action.kind == Kind::Backward ? Kind::Forward : Kind::Backward;
        EXPECT_TRUE(done.contains({before, action.micro_batch, action.chunk}));
      }
    }
    const int kinds = schedule == PipelineSchedule::ZeroBubble ? 3 : 2;
    EXPECT_EQ(done.size(), static_cast<std::size_t>(kinds * micro_batches * chunks));
  }
}

INSTANTIATE_TEST_SUITE_P(All, Schedules,
                         ::testing::Values(Case{PipelineSchedule::GPipe, 4, 7, 1},
                                           Case{PipelineSchedule::OneFOneB, 4, 8, 1},
                                           Case{PipelineSchedule::OneFOneB, 8, 3, 1},
                                           Case{PipelineSchedule::Interleaved, 4, 8, 3},
                                           Case{PipelineSchedule::Interleaved, 4, 4, 2},
                                           Case{PipelineSchedule::ZeroBubble, 4, 8, 1}));

/// F0 F1 F2 B0 F3 B1 ... of stage 1 of 2 with 2 chunks and 4 micro-batches: behind F0 and F1, the warm-up,
/// comes the input of the next forward, behind F1 the first gradient, too; F2's output goes with B0's.
TEST(StageExchanges, WithoutOverlapAreOfPairs) {
  const std::vector<StageAction> actions = stage_actions(PipelineSchedule::Interleaved, 2, 1, 4, 2);
  const std::vector<StageExchange> behind = stage_exchanges(actions, false);
  EXPECT_EQ(behind[0], (StageExchange{.forward = actions[1], .backward = {}, .waits = true}));
  EXPECT_EQ(behind[1], (StageExchange{.forward = actions[2], .backward = actions[3], .waits = true}));
  EXPECT_EQ(behind[2], (StageExchange{.forward = {}, .backward = {}, .waits = false, .sends = false}));
  EXPECT_EQ(behind[3], (StageExchange{.forward = actions[4], .backward = actions[5], .waits = true}));
  EXPECT_EQ(behind[14], (StageExchange{.forward = {}, .backward = actions[15], .waits = true}));
  EXPECT_EQ(behind[15], (StageExchange{.forward = {}, .backward = {}, .waits = true}));
}

/// All forward is warm-up where there are as many micro-batches as stages, and each sends by itself.
TEST(StageExchanges, OfAnAllWarmUpScheduleSendEachForward) {
  const std::vector<StageAction> actions = stage_actions(PipelineSchedule::Interleaved, 2, 0, 2, 2);
  const std::vector<StageExchange> behind = stage_exchanges(actions, false);
  EXPECT_EQ(behind[3], (StageExchange{.forward = {}, .backward = {}, .waits = true}));
  EXPECT_EQ(behind[4], (StageExchange{.forward = {}, .backward = actions[5], .waits = true}));
}

/// Each action asks for the next of its kind if messages overlap.
TEST(StageExchanges, WithOverlapAreOfOneKind) {
  const std::vector<StageAction> actions = stage_actions(PipelineSchedule::Interleaved, 2, 1, 4, 2);
  const std::vector<StageExchange> behind = stage_exchanges(actions, true);
  EXPECT_EQ(behind[2], (StageExchange{.forward = actions[4], .backward = {}}));
  EXPECT_EQ(behind[3], (StageExchange{.forward = {}, .backward = actions[5]}));
}

/// Micro-batches whose activations a stage holds at most.
int most_in_flight(PipelineSchedule schedule, int stages, int stage, int micro_batches) {
  int now = 0, most = 0;
  const Kind frees = schedule == PipelineSchedule::ZeroBubble ? Kind::WeightGradient : Kind::Backward;
  for (const StageAction& action : stage_actions(schedule, stages, stage, micro_batches, 1)) {
    now += action.kind == Kind::Forward ? 1 : action.kind == frees ? -1 : 0;
    most = std::max(most, now);
  }
  return most;
}

TEST(PipelineSchedule, HoldsAsManyMicroBatchesAsItsPaperSays) {
  for (int stage = 0; stage < 4; ++stage) {
    EXPECT_EQ(most_in_flight(PipelineSchedule::GPipe, 4, stage, 16), 16);
    EXPECT_EQ(most_in_flight(PipelineSchedule::OneFOneB, 4, stage, 16), 4 - stage);
    EXPECT_LE(most_in_flight(PipelineSchedule::ZeroBubble, 4, stage, 16), 4);  // as the first stage of 1F1B
  }
}

}  // namespace
}  // namespace lockstep
