#include "app/report/page_timeline.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <nlohmann/json.hpp>

namespace lockstep {
namespace {

using ::testing::ElementsAre;
using ::testing::SizeIs;

/// Ranks that each put one kernel on the stream `compute`, for two steps.
Job job_of_page(std::size_t ranks) {
  auto program = std::make_shared<Program>();
  program->streams = {"compute"};
  program->kernels.resize(1);
  program->kernels.front().name = "gemm";
  Instruction launch;
  launch.op = Opcode::Launch;
  program->threads = {{"main", {launch}}};
  Job job;
  job.steps = 2;
  job.programs = {program};
  job.ranks.resize(ranks);
  return job;
}

TimelineSpan kernel_span(std::uint32_t rank, std::uint32_t step, double start, double end) {
  TimelineSpan span;
  span.kind = SpanKind::Kernel;
  span.rank = rank;
  span.step = step;
  span.start = start;
  span.end = end;
  return span;
}

nlohmann::json written(const PageTimeline& timeline) {
  return nlohmann::json::parse(timeline.json(std::vector<double>{1e-3, 2e-3}));
}

TEST(PageTimeline, HasTheLastStepOnly) {
  const Job job = job_of_page(1);
  PageTimeline timeline{job, std::vector<std::uint32_t>{0}};
  const std::vector spans{kernel_span(0, 0, 0, 1e-6), kernel_span(0, 1, 1e-3, 1.002e-3),
                          kernel_span(0, 1, 1.005e-3, 1.006e-3)};
  timeline.write(spans);
  timeline.light(std::vector<PathPiece>{{0, false, 0, 1e-3, 1.002e-3}, {0, true, 0, 0, 1}});
  const nlohmann::json json = written(timeline);
  EXPECT_EQ(json["step_start"], 1'000'000);
  EXPECT_EQ(json["step_end"], 2'000'000);
  ASSERT_THAT(json["ranks"], SizeIs(1));
  const nlohmann::json& lane = json["ranks"][0]["lanes"][0];
  EXPECT_EQ(lane["name"], "stream compute");
  // Start from the one before, duration, name, and -1: no collective.
  EXPECT_THAT(lane["spans"], ElementsAre(1'000'000, 2000, 0, -1, 5000, 1000, 0, -1));
  EXPECT_THAT(lane["path"], ElementsAre(1'000'000, 2000));
  EXPECT_THAT(json["names"], ElementsAre("gemm"));
}

TEST(PageTimeline, ShowsEightRanksSpreadEvenly) {
  const Job job = job_of_page(32);
  std::vector<std::uint32_t> differ;
  for (std::uint32_t rank = 0; rank < 32; rank += 2) {
    differ.push_back(rank);
  }
  const nlohmann::json json = written(PageTimeline{job, differ});
  ASSERT_THAT(json["ranks"], SizeIs(PageTimeline::kMostRanks));
  EXPECT_EQ(json["ranks"][0]["rank"], 0);
  EXPECT_EQ(json["ranks"][7]["rank"], 28);  // of 16 that differ, each second
  EXPECT_EQ(json["job_ranks"], 32);
}

TEST(PageTimeline, LeavesOutTheShortestAndSaysSo) {
  const Job job = job_of_page(1);
  PageTimeline timeline{job, std::vector<std::uint32_t>{0}};
  const std::size_t extra = 10;
  for (std::size_t i = 0; i < PageTimeline::kMostSpans + extra; ++i) {
    const double start = 1e-3 + 1e-5 * static_cast<double>(i);
    const std::vector one{kernel_span(0, 1, start, start + (i < extra ? 1e-6 : 2e-6))};
    timeline.write(one);
  }
  const nlohmann::json json = written(timeline);
  EXPECT_EQ(json["ranks"][0]["left_out"], extra);
  EXPECT_EQ(json["ranks"][0]["shorter_than"], 1000);
  EXPECT_THAT(json["ranks"][0]["lanes"][0]["spans"], SizeIs(4 * PageTimeline::kMostSpans));
}

}  // namespace
}  // namespace lockstep
