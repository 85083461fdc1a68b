#include "traces/memory_recorder.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>

namespace lockstep {
namespace {

/// One rank with two host threads of three instructions each, whose memory changes as @p changes say.
Job job_with(std::vector<MemoryChange> changes, int steps) {
  Program program;
  program.threads = {{"main", std::vector<Instruction>(3)}, {"autograd", std::vector<Instruction>(3)}};
  Job job;
  job.programs = {std::make_shared<const Program>(std::move(program))};
  job.ranks.resize(1);
  job.memory.resize(1);
  job.memory_changes = {std::move(changes)};
  job.steps = steps;
  return job;
}

MemoryChange change(double bytes, std::uint32_t instruction, std::uint8_t thread = 0) {
  return {bytes, {instruction, thread}, bytes == 100 ? MemoryUse::Parameters : MemoryUse::Activations};
}

TimelineSpan work(double start, std::uint32_t instruction, std::uint32_t step = 0, std::uint8_t thread = 0) {
  TimelineSpan span;
  span.start = start;
  span.end = start + 0.5;
  span.instruction = instruction;
  span.step = step;
  span.thread = thread;
  span.kind = SpanKind::HostWork;
  return span;
}

MemoryRecorderOptions of_rank_0(std::size_t levels = 100'000) {
  MemoryRecorderOptions options;
  options.ranks = {0};
  options.besides.resize(1);
  options.levels = levels;
  return options;
}

std::vector<double> totals(const MemoryCourse& course) {
  std::vector<double> all;
  for (const MemoryLevel& level : course.levels) {
    all.push_back(level.held.total().in_base_units());
  }
  return all;
}

// 100 stay; main takes 8 before its instruction 1 at 1 s, autograd gives them back before its instruction 2.
TEST(MemoryRecorder, DatesChangesByTheNextInstructionOfTheirThread) {
  const Job job = job_with({change(100, 0), change(8, 1), change(-8, 2, 1)}, 1);
  MemoryRecorder recorder{job, of_rank_0()};
  recorder.write(std::vector{work(0.25, 0), work(1, 1), work(2, 0, 0, 1), work(3, 2, 0, 1)});
  const auto courses = recorder.courses();
  ASSERT_EQ(courses.size(), 1);
  EXPECT_EQ(totals(courses[0]), (std::vector<double>{100, 108, 100}));
  EXPECT_EQ(courses[0].levels[0].date, 0.25);
  EXPECT_EQ(courses[0].levels[1].date, 1);
  EXPECT_EQ(courses[0].levels[2].date, 3);
}

TEST(MemoryRecorder, BeginsEachStepAnew) {
  const Job job = job_with({change(100, 0), change(8, 1)}, 2);
  MemoryRecorder recorder{job, of_rank_0()};
  recorder.write(std::vector{work(0, 0), work(1, 1), work(2, 0, 1), work(3, 1, 1)});
  const auto courses = recorder.courses();
  EXPECT_EQ(totals(courses.at(0)), (std::vector<double>{100, 108, 100, 108}));
  EXPECT_EQ(courses[0].last_step, 2);
}

// The change behind the last instruction happens when the next step begins.
TEST(MemoryRecorder, DatesWhatIsBehindTheLastInstruction) {
  const Job job = job_with({change(100, 0), change(8, 1), change(-8, 3)}, 2);
  MemoryRecorder recorder{job, of_rank_0()};
  recorder.write(std::vector{work(0, 0), work(1, 1), work(5, 0, 1), work(6, 1, 1)});
  const auto courses = recorder.courses();
  EXPECT_EQ(totals(courses.at(0)), (std::vector<double>{100, 108, 100, 100, 108, 100}));
  EXPECT_EQ(courses[0].levels[2].date, 5);
  EXPECT_EQ(courses[0].levels[5].date, 6);
}

TEST(MemoryRecorder, KeepsTheHighestOfTooManyLevels) {
  std::vector<MemoryChange> changes{change(100, 0)};
  for (int i = 0; i < 500; ++i) {
    changes.push_back(change(i == 250 ? 70 : 7, 1 + static_cast<std::uint32_t>(i % 2)));
    changes.push_back(change(i == 250 ? -70 : -7, 1 + static_cast<std::uint32_t>(i % 2)));
  }
  const Job job = job_with(changes, 1);
  MemoryRecorder recorder{job, of_rank_0(1)};
  recorder.write(std::vector{work(0, 0), work(1, 1), work(2, 2)});
  const std::vector<double> levels = totals(recorder.courses().at(0));
  EXPECT_LE(levels.size(), 66);
  EXPECT_EQ(*std::max_element(levels.begin(), levels.end()), 170);
  EXPECT_EQ(levels.back(), 100);
}

TEST(MemoryRecorder, AddsWhatIsBesideTheJob) {
  const Job job = job_with({change(100, 0)}, 1);
  MemoryRecorderOptions options = of_rank_0();
  options.besides[0][MemoryUse::Context] = 11;
  MemoryRecorder recorder{job, options};
  recorder.write(std::vector{work(0, 0)});
  EXPECT_EQ(totals(recorder.courses().at(0)), (std::vector<double>{111}));
}

TEST(MemoryRecorder, HasNoCourseWhereOnlyThePeakIsModelled) {
  Job job = job_with({}, 1);
  job.memory_changes.clear();
  MemoryRecorder recorder{job, of_rank_0()};
  recorder.write(std::vector{work(0, 0)});
  EXPECT_TRUE(recorder.courses().empty());
}

}  // namespace
}  // namespace lockstep
