#include "sim/noise.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/engines.hpp"
#include "tests/support/script.hpp"

namespace lockstep::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

NoiseSource every_ticks(double every, double duration) {
  NoiseSource source;
  source.name = "daemon";
  source.every = every * kTick;
  source.duration = duration * kTick;
  source.together = true;
  return source;
}

/// Seconds at which a lone thread that comes by at each of @p clocks is interrupted.
std::vector<double> taken_at(RankNoise& noise, const std::vector<double>& clocks) {
  std::vector<double> taken;
  for (const double clock : clocks) {
    while (noise.next(clock, 0, false)) {
      taken.push_back(clock);
    }
  }
  return taken;
}

TEST(RankNoise, InterruptsAtTheFirstInstructionAfterItsDate) {
  NoiseSource source;
  source.every = 10;
  source.duration = 1;
  RankNoise noise;
  noise.add(0, source, 3);
  EXPECT_THAT(taken_at(noise, {0, 2.9, 3, 3.5, 12, 13.5, 22, 23}), ElementsAre(3, 13.5, 23));
}

// Due at 3, 13, 23, 33: a thread that waited from 4 to 30 takes one of the two it missed, and the next at 33.
TEST(RankNoise, WhatCameDueMeanwhileIsTakenOnce) {
  NoiseSource source;
  source.every = 10;
  source.duration = 1;
  RankNoise noise;
  noise.add(0, source, 3);
  EXPECT_THAT(taken_at(noise, {4, 30, 31, 33}), ElementsAre(4, 30, 33));
}

TEST(Noise, DisturbsItsRanksEachAtATimeOfItsOwn) {
  NoiseSource some = every_ticks(1000, 1);
  some.ranks = {1, 3};
  EXPECT_EQ((Noise{{some}, Random{1, "noise"}}.of(0)), nullptr);
  NoiseSource apart = some;
  apart.together = false;
  const auto first = [](const NoiseSource& source, std::uint32_t rank) {
    const auto noise = Noise{{source}, Random{1, "noise"}}.of(rank);
    double clock = 0;
    while (!noise->next(clock, 0, false)) {
      clock += kTick;
    }
    return clock;
  };
  EXPECT_EQ(first(some, 1), first(some, 3));
  EXPECT_NE(first(apart, 1), first(apart, 3));
}

/// Two ranks that compute 10 ticks and meet for 1024 bytes a step, launched without host time; then they
/// wait.
Job meeting_job(const Fabric& fabric, int steps) {
  std::vector<Script> scripts;
  for (int rank = 0; rank < 2; ++rank) {
    scripts.push_back(
        Script({"compute"}, {"world"}).work(2).launch(0, 10).all_reduce(0, 0, Bytes{1024}).wait_stream(0));
  }
  return job_of(fabric, scripts, {{"world", {0, 1}}}, steps);
}

// A step: 2 ticks on the host, 10 of the kernel, 1 of the all-reduce (a ring of two sends the buffer once)
// = 13. A checkpoint of 7 ticks on rank 1 before steps 2 and 4 (counted from 0) holds up both: 5 x 13 + 2
// x 7.
TEST(Noise, ACheckpointOfOneRankHoldsUpAll) {
  const Fabric fabric = tick_machine(2);
  const CollectivePlanner planner{fabric, rings()};
  const Job job = meeting_job(fabric, 5);
  SimulationInput input = input_of(job, fabric, planner);
  NoiseSource checkpoint;
  checkpoint.name = "checkpoint";
  checkpoint.every_steps = 2;
  checkpoint.duration = 7 * kTick;
  checkpoint.ranks = {1};
  input.noise = {{checkpoint}, Random{1, "noise"}};
  const Agreement expected{(5 * 13 + 2 * 7) * kTick, 0, 0};
  for (const auto& [name, options] : every_engine()) {
    EXPECT_EQ(simulated_in_child(input, options).makespan, expected.makespan) << name;
  }
}

TEST(Noise, EnginesAgree) {
  const Fabric fabric = tick_machine(2);
  const CollectivePlanner planner{fabric, rings()};
  const Job job = meeting_job(fabric, 20);
  SimulationInput input = input_of(job, fabric, planner);
  NoiseSource apart = every_ticks(31, 3);
  apart.together = false;
  input.noise = {{apart, every_ticks(50, 1)}, Random{5, "noise"}};
  const auto all = every_engine();
  const Agreement first = simulated_in_child(input, all.front().options);
  EXPECT_GT(first.makespan, 20 * 13 * kTick);
  for (const auto& [name, options] : all) {
    EXPECT_EQ(simulated_in_child(input, options), first) << name;
  }
}

TEST(Noise, IsOnTheTimelineAndOnTheCriticalPath) {
  const Fabric fabric = tick_machine(2);
  const CollectivePlanner planner{fabric, rings()};
  const Job job = meeting_job(fabric, 2);
  SimulationInput input = input_of(job, fabric, planner);
  NoiseSource checkpoint;
  checkpoint.name = "checkpoint";
  checkpoint.every_steps = 1;
  checkpoint.duration = 7 * kTick;
  input.noise = {{checkpoint}, Random{1, "noise"}};
  Recording recording;
  const SimulationResult result = simulate(input, options_for(EngineMode::Bare), &recording);
  std::vector<TimelineSpan> spans = recording.spans();
  std::erase_if(spans,
                [](const TimelineSpan& span) { return span.kind != SpanKind::Noise || span.rank != 0; });
  EXPECT_THAT(in_ticks(spans), ElementsAre(Pair(13, 20)));
  const auto share = std::ranges::find(result.critical_path, "noise: checkpoint", &CriticalShare::what);
  ASSERT_NE(share, result.critical_path.end());
  EXPECT_EQ(share->seconds, 7 * kTick);
}

}  // namespace
}  // namespace lockstep::testing
