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
          message};
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
/// free and the sender has ended. Forward: stage 0 0-1 a, 1-2 b; stage 1 2-3, 4-5; stage 0 4-5, 6-7; stage 1
/// 6-7, 8-9. Back: stage 1 9-11, 11-13; stage 0 12-14, 15-17; stage 1 15-17, 18-20; stage 0 18-20, 21-23.
TEST(PipelineTime, WaitsForMessages) {
  const TransformerPlanSpec plan = pipeline(PipelineSchedule::Interleaved, 2, 2);
  EXPECT_DOUBLE_EQ(pipeline_time(plan, 2, equal_parts(4, 0)), 2 * 2 * 3 + 3);
  EXPECT_DOUBLE_EQ(pipeline_time(plan, 2, equal_parts(4, 1)), 23);
}

/// The same, where the first chunk of both stages takes twice as long, without messages. Forward: stage 0 0-2
/// a, 2-4 b; stage 1 2-4, 4-6; stage 0 4-5, 6-7 (b comes at 6); stage 1 5-6, 7-8. Back: stage 1 8-10, 10-12;
/// stage 0 10-12, 12-14; stage 1 12-16, 16-20; stage 0 16-20, 20-24. Even parts with the same work: 18 + 4.5.
TEST(PipelineTime, UnevenChunksWaitForEachOther) {
  const PipelineCosts costs{{2, 2, 1, 1}, {4, 4, 2, 2}, {2, 2, 1, 1}, 0};
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
