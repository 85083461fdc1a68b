#include "traces/timeline_budget.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "small_job.hpp"

namespace lockstep::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// Ranks 0 to @p count - 1, all with the first program of the small job, for ten steps.
Job job_of(std::size_t count) {
  Job job = small_job();
  job.steps = 10;
  job.ranks.resize(count, job.ranks.front());
  return job;
}

std::vector<std::uint32_t> ranks_below(std::uint32_t count) {
  std::vector<std::uint32_t> ranks;
  for (std::uint32_t rank = 0; rank < count; ++rank) {
    ranks.push_back(rank);
  }
  return ranks;
}

TEST(TimelineBudget, CountsTheEventsOfAStep) {
  // 16 spans, 5 of them launched work and 5 their launches, each of these with half an arrow (ChromeTrace,
  // CountsItsEvents).
  EXPECT_EQ(events_of_step(*small_job().programs.front()), 16 + 10);
}

TEST(TimelineBudget, WhatFitsIsWhole) {
  const TimelinePart part = part_within(job_of(4), ranks_below(4), 4 * 10 * 26);
  EXPECT_THAT(part.ranks, ElementsAre(0, 1, 2, 3));
  EXPECT_EQ(part.first_step, 0);
  EXPECT_EQ(part.events, 1040);
  EXPECT_THAT(part.left_out, IsEmpty());
}

TEST(TimelineBudget, EarlyStepsGoFirst) {
  const TimelinePart part = part_within(job_of(4), ranks_below(4), 4 * 3 * 26);
  EXPECT_THAT(part.ranks, ElementsAre(0, 1, 2, 3));
  EXPECT_EQ(part.first_step, 7);
  EXPECT_THAT(part.left_out, HasSubstr("of 4 of 4 ranks, the last 3 of 10 steps"));
}

TEST(TimelineBudget, ThenRanksSpreadEvenly) {
  const TimelinePart part = part_within(job_of(8), ranks_below(8), 2 * 26);
  EXPECT_THAT(part.ranks, ElementsAre(0, 4));
  EXPECT_EQ(part.first_step, 9);
  EXPECT_EQ(part.events, 2 * 26);
  EXPECT_EQ(part.all_events, 8 * 10 * 26);
}

TEST(TimelineBudget, OneRankAndOneStepStay) {
  const TimelinePart part = part_within(job_of(8), ranks_below(8), 1);
  EXPECT_THAT(part.ranks, ElementsAre(0));
  EXPECT_EQ(part.first_step, 9);
}

}  // namespace
}  // namespace lockstep::test
