#include "search/plans/pipeline_time.hpp"

#include <gtest/gtest.h>

namespace lockstep {
namespace {

TransformerPlanSpec pipeline(PipelineSchedule schedule, int stages, int chunks = 1) {
  TransformerPlanSpec plan;
  plan.schedule = schedule;
  plan.pipeline = stages;
  plan.chunks = chunks;
  return plan;
}

/// Parts that take 1 forward and 2 back, of which 1 for the weights.
PipelineCosts equal_parts(std::size_t count, double message) {
  return {std::vector<double>(count, 1), std::vector<double>(count, 2), std::vector<double>(count, 1),
          std::vector<PipelineMessage>(count, {message, 0})};
}

TEST(PipelineTime, OfOneStageIsItsWork) {
  const PipelineCosts costs = equal_parts(1, 100);
  EXPECT_DOUBLE_EQ(pipeline_time(pipeline(PipelineSchedule::OneFOneB, 1), 5, costs), 15);
}

/// n (f + b) and a bubble of (p - 1)(f + b), f and b of a part: with v chunks n v (f + b) of work; ZB-H1
/// (p - 1)(tf + tb - tw) (Qi et al., table 1).
TEST(PipelineTime, HasTheBubblesOfThePapers) {
  const PipelineCosts one = equal_parts(4, 0), two = equal_parts(8, 0);
  EXPECT_DOUBLE_EQ(pipeline_time(pipeline(PipelineSchedule::OneFOneB, 4), 16, one), 16 * 3 + 3 * 3);
  EXPECT_DOUBLE_EQ(pipeline_time(pipeline(PipelineSchedule::GPipe, 4), 16, one), 16 * 3 + 3 * 3);
  EXPECT_DOUBLE_EQ(pipeline_time(pipeline(PipelineSchedule::Interleaved, 4, 2), 16, two), 16 * 2 * 3 + 3 * 3);
  EXPECT_DOUBLE_EQ(pipeline_time(pipeline(PipelineSchedule::ZeroBubble, 4), 16, one), 16 * 3 + 3);
}

/// Two stages of two chunks, two micro-batches (a, b), messages of 1: every receive begins when the stage is
/// free and the sender has ended; asked for ahead they come no earlier, because all forward actions are
/// first. Forward: stage 0 0-1 a, 1-2 b; stage 1 2-3, 4-5; stage 0 4-5, 6-7; stage 1 6-7, 8-9. Back: stage 1
/// 9-11, 11-13; stage 0 12-14, 15-17; stage 1 15-17, 18-20; stage 0 18-20, 21-23.
TEST(PipelineTime, WaitsForMessages) {
  TransformerPlanSpec plan = pipeline(PipelineSchedule::Interleaved, 2, 2);
  EXPECT_DOUBLE_EQ(pipeline_time(plan, 2, equal_parts(4, 0)), 2 * 2 * 3 + 3);
  EXPECT_DOUBLE_EQ(pipeline_time(plan, 2, equal_parts(4, 1)), 23);
  plan.overlap_p2p = false;
  EXPECT_DOUBLE_EQ(pipeline_time(plan, 2, equal_parts(4, 1)), 23);
}

/// Once the pipeline is full, p micro-batches more take p v (f + b) = 12 where each message comes during the
/// pass of the other direction. Without overlap each of the 4 pairs of passes ends with an exchange.
TEST(PipelineTime, MessagesAskedForAheadHideBehindTheOtherDirection) {
  TransformerPlanSpec plan = pipeline(PipelineSchedule::Interleaved, 2, 2);
  const PipelineCosts costs = equal_parts(4, 0.25);
  const auto round = [&] { return pipeline_time(plan, 12, costs) - pipeline_time(plan, 10, costs); };
  EXPECT_DOUBLE_EQ(round(), 2 * 2 * 3);
  plan.overlap_p2p = false;
  EXPECT_DOUBLE_EQ(round(), 2 * 2 * 3 + 4 * 0.25);
}

/// ZB-H1, two stages, one micro-batch, messages of 1 that hold 1 of 2 SMs. Stage 0: forward 0-1; stage 1:
/// forward 2-3, gradients of inputs 3-4, and of weights (3) from 4 on, half as fast until the message to
/// stage 0 has come at 5: to 7.5. Where half of the time is no compute, 1 / 1.5 as fast: to 7 1/3. Stage 0
/// ends at 7.
TEST(PipelineTime, MessagesSlowDownWhatRunsBesideThem) {
  const TransformerPlanSpec plan = pipeline(PipelineSchedule::ZeroBubble, 2);
  PipelineCosts costs{{1, 1}, {2, 4}, {1, 3}, {{1, 1}, {1, 1}}};
  EXPECT_DOUBLE_EQ(pipeline_time(plan, 1, costs), 7);
  costs.interference = {.sms = 2, .collective_sms = 1, .memory_share = 0};
  EXPECT_DOUBLE_EQ(pipeline_time(plan, 1, costs), 7.5);
  costs.compute = 0.5;
  EXPECT_DOUBLE_EQ(pipeline_time(plan, 1, costs), 7 + 1.0 / 3);
}

/// An interleaved schedule without overlap waits for what it sends, too.
TEST(PipelineTime, MessagesWithoutOverlapRunAlone) {
  TransformerPlanSpec plan = pipeline(PipelineSchedule::Interleaved, 4, 2);
  plan.overlap_p2p = false;
  PipelineCosts costs = equal_parts(8, 0.5);
  const double without = pipeline_time(plan, 8, costs);
  costs.messages.assign(4, {0.5, 1});
  costs.interference = {.sms = 2, .collective_sms = 1, .memory_share = 0};
  EXPECT_DOUBLE_EQ(pipeline_time(plan, 8, costs), without);
}

/// The backward of the last micro-batch goes from stage to stage, and what each adds to it, too; ZB-H1 adds
/// it to the gradients of weights, for which no other stage waits.
TEST(PipelineTime, AddsToTheLastBackwardOfEachStage) {
  PipelineCosts costs = equal_parts(4, 0);
  for (const int micro_batches : {1, 4, 40}) {
    costs.last = {};
    const double without = pipeline_time(pipeline(PipelineSchedule::OneFOneB, 4), micro_batches, costs);
    costs.last = {0.5, 0.25, 0.125, 0.125};
    EXPECT_DOUBLE_EQ(pipeline_time(pipeline(PipelineSchedule::OneFOneB, 4), micro_batches, costs),
                     without + 1);
  }
  costs.last = {};
  const double without = pipeline_time(pipeline(PipelineSchedule::ZeroBubble, 4), 8, costs);
  costs.last = {0.5, 0.25, 0.125, 0.125};
  EXPECT_DOUBLE_EQ(pipeline_time(pipeline(PipelineSchedule::ZeroBubble, 4), 8, costs), without + 0.5);
}

/// Two stages, two micro-batches, a restart of 0.5 of either stage behind what it waited for. Stage 0: F 0-1,
/// F 1.5-2.5 (it has sent); stage 1: F 1.5-2.5, B 2.5-4.5, F 5-6 (sent, and received), B 6-8; stage 0: B 5-7
/// and the last, which came at 8, 8.5-10.5.
TEST(PipelineTime, HostsBeginAnewBehindMessages) {
  TransformerPlanSpec plan = pipeline(PipelineSchedule::OneFOneB, 2);
  PipelineCosts costs = equal_parts(2, 0);
  costs.restart = {0.5, 0.5};
  EXPECT_DOUBLE_EQ(pipeline_time(plan, 2, costs), 10.5);
  plan.batch_p2p_sync = false;
  EXPECT_DOUBLE_EQ(pipeline_time(plan, 2, costs), 9);
}

/// 1F1B has the stage wait for what it sends, too: nothing runs beside messages.
TEST(PipelineTime, MessagesOf1F1BRunAlone) {
  const TransformerPlanSpec plan = pipeline(PipelineSchedule::OneFOneB, 4);
  PipelineCosts costs = equal_parts(4, 0.5);
  const double without = pipeline_time(plan, 8, costs);
  costs.messages.assign(4, {0.5, 1});
  costs.interference = {.sms = 2, .collective_sms = 1, .memory_share = 0};
  EXPECT_DOUBLE_EQ(pipeline_time(plan, 8, costs), without);
}

/// The same, where the first chunk of both stages takes twice as long, without messages. Forward: stage 0 0-2
/// a, 2-4 b; stage 1 2-4, 4-6; stage 0 4-5, 6-7 (b comes at 6); stage 1 5-6, 7-8. Back: stage 1 8-10, 10-12;
/// stage 0 10-12, 12-14; stage 1 12-16, 16-20; stage 0 16-20, 20-24. Even parts with the same work: 18 + 4.5.
TEST(PipelineTime, UnevenChunksWaitForEachOther) {
  const PipelineCosts costs{{2, 2, 1, 1}, {4, 4, 2, 2}, {2, 2, 1, 1}, {{}, {}}};
  EXPECT_DOUBLE_EQ(pipeline_time(pipeline(PipelineSchedule::Interleaved, 2, 2), 2, costs), 24);
}

/// Times grow by the same with every p micro-batches; from 6 p on that is taken for granted.
TEST(PipelineTime, RoundsRepeatThemselves) {
  for (const PipelineSchedule schedule : {PipelineSchedule::OneFOneB, PipelineSchedule::GPipe,
                                          PipelineSchedule::Interleaved, PipelineSchedule::ZeroBubble}) {
    const bool chunks = schedule == PipelineSchedule::Interleaved;
    const TransformerPlanSpec plan = pipeline(schedule, 3, chunks ? 2 : 1);
    PipelineCosts costs = equal_parts(chunks ? 6 : 3, 0.25);
    costs.forward.back() += 0.5;
    costs.backward.back() += 1;
    const auto time = [&](int micro_batches) { return pipeline_time(plan, micro_batches, costs); };
    EXPECT_NEAR(time(18) - time(15), time(15) - time(12), 1e-9);
    EXPECT_NEAR(time(30) - time(18), 4 * (time(18) - time(15)), 1e-9);
  }
}

}  // namespace
}  // namespace lockstep
