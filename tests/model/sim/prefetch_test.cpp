// Waits for what the step before recorded: how a step's program represents a filled pipeline.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/engines.hpp"
#include "tests/support/script.hpp"

namespace lockstep::testing {
namespace {

using Spans = std::vector<Ticks>;

/// Stream 0 works 10 ticks on what stream 1 fetched during the step before, which takes @p fetch.
Script prefetching(double fetch) {
  return Script({"compute", "fetch"}).carry(0).stream_wait(0, 0).launch(0, 10).launch(1, fetch).record(1, 0);
}

class Prefetch : public ::testing::Test {
 protected:
  void run(const Script& script, int steps) {
    const Fabric fabric = tick_machine(1);
    const CollectivePlanner planner{fabric, rings()};
    const Job job = job_of(fabric, {script}, {}, steps);
    EXPECT_NO_THROW(check(job));
    const auto input = input_of(job, fabric, planner);
    SimulationOptions options;
    options.engine = EngineMode::Bare;
    const SimulationResult result = simulate(input, options, &recording_);
    for (const auto& [name, each] : every_engine(options)) {
      EXPECT_EQ(simulated_in_child(input, each), agreement_of(result)) << name;
    }
  }
  [[nodiscard]] Spans stream(std::uint8_t number) const { return in_ticks(recording_.gpu(0, number)); }

  Recording recording_;
};

/// The first step finds nothing recorded and waits for nothing, as if the pipeline had been filled before.
/// The fetches follow one another, and from then on each step begins when the fetch of the step before has
/// ended.
TEST_F(Prefetch, ALongFetchHoldsUpTheNextStep) {
  run(prefetching(15), 3);
  EXPECT_EQ(stream(1), (Spans{{0, 15}, {15, 30}, {30, 45}}));
  EXPECT_EQ(stream(0), (Spans{{0, 10}, {15, 25}, {30, 40}}));
}

TEST_F(Prefetch, AShortFetchIsHidden) {
  run(prefetching(6), 3);
  EXPECT_EQ(stream(0), (Spans{{0, 10}, {10, 20}, {20, 30}}));
}

/// The host waits: 15 until the first fetch has ended, then 15 more a step.
TEST_F(Prefetch, TheHostWaitsForTheStepBefore) {
  run(Script({"compute", "fetch"}).carry(0).wait_event(0).launch(0, 10).launch(1, 15).record(1, 0), 3);
  EXPECT_EQ(stream(0), (Spans{{0, 10}, {15, 25}, {30, 40}}));
}

/// Work and its wait in one step, without a pipeline: 15 + 10 a step.
TEST_F(Prefetch, WithoutPipelineTheyFollowEachOther) {
  run(Script({"compute", "fetch"})
          .stream_wait(1, 1)
          .launch(1, 15)
          .record(1, 0)
          .stream_wait(0, 0)
          .launch(0, 10)
          .record(0, 1)
          .carry(1),
      2);
  EXPECT_EQ(stream(0), (Spans{{15, 25}, {40, 50}}));
}

}  // namespace
}  // namespace lockstep::testing
