#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/engines.hpp"
#include "tests/support/script.hpp"

namespace lockstep::testing {
namespace {

using ::testing::ElementsAre;
using Spans = std::vector<Ticks>;

/// One rank on one GPU. Times in ticks; a launch call that costs c issues its kernel when it returns.
class OneRank : public ::testing::Test {
 protected:
  GpuSpec gpu_ = tick_gpu();
  double host_factor_ = 1;
  double gpu_factor_ = 1;
  SimulationResult result_;
  Recording recording_;

  void run(const Script& script, int steps = 1) {
    const Fabric fabric = tick_machine(1);
    const CollectivePlanner planner{fabric};
    const Job job = job_of(fabric, {script}, {}, steps);
    auto input = input_of(job, fabric, planner);
    input.gpu_models = {gpu_};
    input.host_factor = {host_factor_};
    input.gpu_factor = {gpu_factor_};
    result_ = simulate(input, options_for(EngineMode::Bare), &recording_);
    for (const auto& [name, options] : every_engine()) {
      EXPECT_EQ(simulated_in_child(input, options), agreement_of(result_)) << name;
    }
  }
  [[nodiscard]] Spans gpu(std::uint8_t stream) const { return in_ticks(recording_.gpu(0, stream)); }
  [[nodiscard]] Spans host(std::uint8_t thread = 0) const { return in_ticks(recording_.host(0, thread)); }
  [[nodiscard]] double blocked() const { return result_.ranks.front().host_blocked / kTick; }
  [[nodiscard]] std::vector<double> step_ends() const {
    std::vector<double> ends;
    for (const double end : result_.step_ends) {
      ends.push_back(end / kTick);
    }
    return ends;
  }
};

/// Two launches may be on the stream without having started. The third call waits from 2 until the first
/// kernel starts (6 = issue 1 + 5) and returns 1 later; the fourth waits until the second starts (16).
TEST_F(OneRank, LaunchBlocksWhileTheQueueIsFull) {
  gpu_.launch_queue = 2;
  gpu_.launch_to_start = Seconds{5 * kTick};
  run(Script({"s"}).launch(0, 10, 1).launch(0, 10, 1).launch(0, 10, 1).launch(0, 10, 1));
  EXPECT_EQ(host(), (Spans{{0, 1}, {1, 2}, {2, 7}, {7, 17}}));
  EXPECT_EQ(gpu(0), (Spans{{6, 16}, {16, 26}, {26, 36}, {36, 46}}));
  EXPECT_EQ(blocked(), (6 - 2) + (16 - 7));
}

/// A lag concerns the next work alone. First: issued at 1, so at 1 + 3. Second: issued at 2, but 2 after the
/// first ended (14). Third: no lag. Fourth: issued at 40, 1 after that, for the stream has long been idle.
TEST_F(OneRank, StartLagDelaysTheNextWorkOnly) {
  run(Script({"s"})
          .lag(0, 3, 9)
          .launch(0, 10, 1)
          .lag(0, 1, 2)
          .launch(0, 10, 1)
          .launch(0, 4, 1)
          .lag(0, 1, 2)
          .launch(0, 10, 37));
  EXPECT_EQ(gpu(0), (Spans{{4, 14}, {16, 26}, {26, 30}, {41, 51}}));
  EXPECT_EQ(host(), (Spans{{0, 1}, {1, 2}, {2, 3}, {3, 40}}));
}

/// A queue of one: a call returns only after the kernel before it has started. Streams do not share a queue.
TEST_F(OneRank, EachStreamHasAQueueOfItsOwn) {
  gpu_.launch_queue = 1;
  run(Script({"a", "b"}).launch(0, 10, 1).launch(0, 10, 1).launch(1, 10, 1).launch(0, 10, 1));
  // a: the kernels start at 1 and 11; the third call finds the second kernel not started at 3 and waits
  EXPECT_EQ(host(), (Spans{{0, 1}, {1, 2}, {2, 3}, {3, 12}}));
  EXPECT_EQ(gpu(0), (Spans{{1, 11}, {11, 21}, {21, 31}}));
  EXPECT_EQ(gpu(1), (Spans{{3, 13}}));
}

/// First: issued at 1, on an idle stream 3 later. Second: issued at 2, so it waits for the first to end (9)
/// and the gap of 2. Third: issued at 33, long after the stream went idle: only the launch latency counts.
TEST_F(OneRank, KernelStartsAfterTheLaunchLatencyAndTheGap) {
  gpu_.launch_to_start = Seconds{3 * kTick};
  gpu_.kernel_gap = Seconds{2 * kTick};
  run(Script({"s"}).launch(0, 5, 1).launch(0, 5, 1).work(30).launch(0, 5, 1));
  EXPECT_EQ(gpu(0), (Spans{{4, 9}, {11, 16}, {36, 41}}));
}

/// The host issues everything at 0, so the event is recorded a second time before the GPU has come to the
/// first record. The first wait means the first record all the same (at 10), the second wait the second (at
/// 20).
TEST_F(OneRank, StreamWaitMeansTheLatestRecordBeforeIt) {
  run(Script({"a", "b"})
          .launch(0, 10)
          .record(0, 0)
          .stream_wait(1, 0)
          .launch(0, 10)
          .record(0, 0)
          .launch(1, 1)
          .stream_wait(1, 0)
          .launch(1, 1));
  EXPECT_EQ(gpu(0), (Spans{{0, 10}, {10, 20}}));
  EXPECT_EQ(gpu(1), (Spans{{10, 11}, {20, 21}}));
}

/// CUDA: waiting for an event that was never recorded holds nothing up. In the second step it has been.
TEST_F(OneRank, WaitBeforeTheFirstRecordIsNone) {
  run(Script({"a", "b"}).stream_wait(1, 0).launch(1, 1).launch(0, 10).record(0, 0), 2);
  EXPECT_EQ(gpu(1), (Spans{{0, 1}, {10, 11}}));
}

/// a: [1, 11], event at 11, [11, 31]; b: [4, 54]. Each wait pays 2 after the moment it waited for.
TEST_F(OneRank, HostWaitsForEventStreamAndDevice) {
  run(Script({"a", "b"})
          .launch(0, 10, 1)
          .record(0, 0, 1)
          .launch(0, 20, 1)
          .launch(1, 50, 1)
          .wait_event(0, 2)
          .after(1)
          .wait_stream(0, 2)
          .wait_device(2)
          .wait_event(0, 2));
  EXPECT_EQ(gpu(0), (Spans{{1, 11}, {11, 31}}));
  EXPECT_EQ(gpu(1), (Spans{{4, 54}}));
  EXPECT_EQ(host(), (Spans{{0, 1}, {1, 2}, {2, 3}, {3, 4}, {5, 13}, {13, 33}, {33, 56}, {56, 58}}));
  EXPECT_EQ(blocked(), (11 - 5) + (31 - 13) + (54 - 33));
}

/// main works until 10 and posts until 11; backward goes on at 11 + 2, launches until 14, posts until 15;
/// main, which waits since 11, goes on at 15 + 1.
TEST_F(OneRank, ThreadsHandOverByFlags) {
  run(Script({"s"}).work(10).post(0, 1).await(1, 1).on("backward").await(0, 2).launch(0, 5, 1).post(1, 1));
  EXPECT_EQ(gpu(0), (Spans{{14, 19}}));
  EXPECT_EQ(host(0), (Spans{{0, 10}, {11, 16}}));
  EXPECT_EQ(host(1), (Spans{{0, 13}, {13, 14}}));
  EXPECT_EQ(blocked(), 15 - 11);
}

/// A flag counts: the second await needs the second post. Every thread counts for itself: one post lets all
/// of them go on.
TEST_F(OneRank, FlagLetsEveryThreadGoOnAsOftenAsItWasPosted) {
  run(Script({"s"})
          .work(10)
          .post(0)
          .work(20)
          .post(0)
          .on("first")
          .await(0, 1)
          .await(0, 1)
          .on("second")
          .work(15)
          .await(0, 1)
          .await(0, 1));
  EXPECT_EQ(host(1), (Spans{{0, 11}, {11, 31}}));
  EXPECT_EQ(host(2), (Spans{{0, 15}, {15, 16}, {16, 31}}));
}

TEST_F(OneRank, SlowGpuAndSlowHostStretchTheirOwnTimes) {
  host_factor_ = 2;
  gpu_factor_ = 1.5;
  run(Script({"s"}).launch(0, 10, 1).after(3).work(4));
  EXPECT_EQ(gpu(0), (Spans{{8, 23}}));  // 2 (3 + 1); 1.5 * 10
  EXPECT_EQ(host(), (Spans{{6, 8}, {8, 16}}));
}

/// The host runs ahead: the stream, 10 a step, is what a step takes.
TEST_F(OneRank, StepEndsWithItsLastKernel) {
  run(Script({"s"}).launch(0, 10, 1), 3);
  EXPECT_THAT(step_ends(), ElementsAre(11, 21, 31));
  EXPECT_EQ(result_.mean_step() / Seconds{kTick}, 10);  // the first, which waits for the host, is left out
  EXPECT_EQ(result_.operations, 3U);
  EXPECT_EQ(result_.launches, 3U);
}

/// Synchronised steps: 1 for the call and 10 for the kernel, each.
TEST_F(OneRank, SynchronisedStepsDoNotOverlap) {
  run(Script({"s"}).launch(0, 10, 1).wait_device(), 3);
  EXPECT_THAT(step_ends(), ElementsAre(11, 22, 33));
  EXPECT_EQ(result_.mean_step() / Seconds{kTick}, 11);
}

TEST_F(OneRank, StepEndsWithTheHostWhenThatIsLater) {
  run(Script({"s"}).launch(0, 10, 1).work(30));
  EXPECT_THAT(step_ends(), ElementsAre(31));
  EXPECT_EQ(result_.mean_step() / Seconds{kTick}, 31);  // of a single step: that one
}

/// main ends at 1, but the other thread's kernel of this step runs from 6 to 16.
TEST_F(OneRank, MakespanHoldsWorkLaunchedAfterTheMainThreadsEnd) {
  run(Script({"s"}).work(1).on("backward").work(5).launch(0, 10, 1));
  EXPECT_THAT(step_ends(), ElementsAre(16));
}

}  // namespace
}  // namespace lockstep::testing
