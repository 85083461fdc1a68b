/// @file
/// What a trace does not say, found in small traces whose truth is drawn beside them.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <fstream>

#include "base/error.hpp"
#include "tests/unit/traces/small_job.hpp"
#include "traces/kineto/kineto_reader.hpp"
#include "traces/replay/comparison.hpp"
#include "traces/replay/replay_job.hpp"
#include "traces/replay/start_lags.hpp"

namespace lockstep::replay {
namespace {

using ::testing::HasSubstr;

/// Events in microseconds.
class SmallTrace {
 public:
  SmallTrace& call(const char* name, int start, int duration, int correlation = 0, int thread = 1) {
    return add(fmt::format(
        R"({{"ph":"X","cat":"cuda_runtime","name":"{}","pid":9,"tid":{},"ts":{},"dur":{},"args":{{"correlation":{}}}}})",
        name, thread, start, duration, correlation));
  }
  SmallTrace& work(const char* name, int start, int duration, int stream, int correlation,
                   const char* kind = "kernel") {
    return add(fmt::format(
        R"({{"ph":"X","cat":"{}","name":"{}","pid":0,"tid":{},"ts":{},"dur":{},"args":{{"device":0,"stream":{},"correlation":{}}}}})",
        kind, name, stream, start, duration, stream, correlation));
  }
  SmallTrace& op(const char* name, int start, int duration, int thread = 1) {
    return add(fmt::format(
        R"({{"ph":"X","cat":"cpu_op","name":"{}","pid":9,"tid":{},"ts":{},"dur":{},"args":{{}}}})", name,
        thread, start, duration));
  }
  [[nodiscard]] Replay replay() const {
    const test::TemporaryDirectory directory;
    const auto path = directory.path() / "trace.json";
    std::ofstream{path} << "{\"traceEvents\": [" << events_ << "]}";
    return make_replay(read_traces({path.string()}));
  }

 private:
  SmallTrace& add(const std::string& event) {
    events_ += events_.empty() ? event : ",\n" + event;
    return *this;
  }
  std::string events_;
};

/// The host is two steps ahead of the GPU: a step ends with the work launched in it, on whichever stream, and
/// the first begins when what was launched before is over. Steps add up to the time from 30 to 470.
TEST(Steps, EndWithTheirGpuWork) {
  const Replay replay = SmallTrace{}
                            .call("cudaLaunchKernel", 0, 5, 1)
                            .op("ProfilerStep#4", 10, 20)
                            .call("cudaLaunchKernel", 12, 5, 2)
                            .op("ProfilerStep#5", 30, 20)
                            .call("cudaLaunchKernel", 32, 5, 3)
                            .call("cudaLaunchKernel", 40, 5, 4)
                            .work("before", 8, 22, 7, 1)
                            .work("a", 30, 200, 7, 2)
                            .work("b", 230, 200, 7, 3)
                            .work("c", 50, 420, 8, 4)
                            .replay();
  ReplayObserver observer{replay};
  const auto steps = observer.compare()[0].steps;
  ASSERT_EQ(steps.size(), 2U);
  EXPECT_EQ(steps[0].name, "ProfilerStep#4");
  EXPECT_NEAR(steps[0].duration().measured, 200e-6, 1e-12);
  EXPECT_NEAR(steps[1].duration().measured, 240e-6, 1e-12);
}

/// Kernel a starts 3 us after its call returned, b right behind a, though it was launched long before.
TEST(StartLags, TellLaunchFromQueue) {
  const Replay replay = SmallTrace{}
                            .call("cudaLaunchKernel", 0, 5, 1)
                            .call("cudaLaunchKernel", 6, 5, 2)
                            .work("a", 8, 100, 7, 1)
                            .work("b", 109, 10, 7, 2)
                            .replay();
  const RankRecording& rank = replay.ranks[0];
  const auto starts = find_starts(rank, {kNone, kNone});
  EXPECT_EQ(starts[0].after_launch, 3000);
  EXPECT_EQ(starts[1].after_work, 1000);
  EXPECT_EQ(starts[1].issue, 11000);
}

/// The wait is for stream 7's kernel: stream 8's goes on 2 us after it, though it was launched long before.
TEST(StreamWaits, AreFoundByTheirTimes) {
  const Replay replay = SmallTrace{}
                            .call("cudaLaunchKernel", 0, 5, 1)
                            .call("cudaStreamWaitEvent", 6, 1)
                            .call("cudaLaunchKernel", 10, 5, 2)
                            .work("a", 8, 100, 7, 1)
                            .work("b", 110, 10, 8, 2)
                            .replay();
  ASSERT_EQ(replay.ranks[0].stream_waits.size(), 1U);
  EXPECT_EQ(replay.ranks[0].stream_waits[0].work, 0U);
  EXPECT_EQ(replay.ranks[0].stream_waits[0].evidence, Evidence::Timed);
}

TEST(HostWaits, OfAStreamOfACopyAndOfTheDevice) {
  const Replay replay = SmallTrace{}
                            .call("cudaLaunchKernel", 0, 5, 1)
                            .call("cudaMemcpyAsync", 10, 110, 2)
                            .call("cudaStreamSynchronize", 121, 2)
                            .call("cudaLaunchKernel", 130, 5, 3)
                            .call("cudaDeviceSynchronize", 140, 100)
                            .work("a", 8, 100, 7, 1)
                            .work("Memcpy DtoH (Device -> Pageable)", 109, 5, 7, 2, "gpu_memcpy")
                            .work("b", 138, 90, 7, 3)
                            .replay();
  const auto& waits = replay.ranks[0].host_waits;
  ASSERT_EQ(waits.size(), 3U);
  EXPECT_EQ(waits[0].work, 1U);  // the copy blocks
  EXPECT_EQ(waits[1].work, 1U);  // and its stream is waited for
  EXPECT_TRUE(waits[2].on_device);
}

/// Thread 1 is silent from 20 to 320 while thread 2 works from 70 to 300.
TEST(Handoffs, FromForwardToBackwardAndBack) {
  const Replay replay = SmallTrace{}
                            .op("aten::mm", 0, 20)
                            .op("MmBackward0", 70, 100, 2)
                            .op("MmBackward0", 175, 125, 2)
                            .op("aten::add_", 320, 10)
                            .call("cudaLaunchKernel", 5, 5, 1)
                            .call("cudaLaunchKernel", 80, 5, 2, 2)
                            .work("a", 12, 5, 7, 1)
                            .work("b", 90, 5, 7, 2)
                            .replay();
  const auto& handoffs = replay.ranks[0].silent.handoffs;
  ASSERT_EQ(handoffs.size(), 2U);
  EXPECT_EQ(handoffs[0].at % 1000000, 20000);
  EXPECT_EQ(handoffs[1].at % 1000000, 300000);
  EXPECT_NE(handoffs[0].from, handoffs[1].from);
}

TEST(Orphans, AreQueuedBehindTheWorkBeforeThem) {
  const Replay replay = SmallTrace{}
                            .call("cudaLaunchKernel", 50, 5, 2)
                            .work("before", 10, 5, 7, 1)
                            .work("b", 60, 5, 7, 2)
                            .work("unseen", 70, 5, 7, 3)
                            .replay();
  EXPECT_EQ(replay.ranks[0].trace.report.count_of("GPU work without a launch"), 2U);
  int launches = 0;
  for (const Instruction& instruction : replay.job.programs[0]->threads[0].instructions) {
    launches += instruction.op == Opcode::Launch ? 1 : 0;
  }
  EXPECT_EQ(launches, 3);
}

TEST(Replay, OfNothingIsRefused) {
  EXPECT_THAT([] { (void)SmallTrace{}.replay(); },
              ::testing::ThrowsMessage<InputError>(HasSubstr("nothing to replay")));
}

TEST(Replay, RanksAreAMultipleOfTraces) {
  const test::TemporaryDirectory directory;
  const auto path = directory.path() / "trace.json";
  std::ofstream{path}
      << R"({"traceEvents": [{"ph":"X","cat":"cpu_op","name":"a","pid":1,"tid":1,"ts":1,"dur":2}]})";
  EXPECT_EQ(make_replay(read_traces({path.string()}), 4).job.ranks.size(), 4U);
  EXPECT_THROW((void)read_traces({path.string(), path.string()}), InputError);
}

/// A folder of recordings that are no ranks of one job says which there are, and how to name one.
TEST(Replay, FolderOfSeveralRecordingsNamesThem) {
  const test::TemporaryDirectory directory;
  const auto write = [&](const char* name, const char* info) {
    std::ofstream{directory.path() / name} << fmt::format(
        R"({{{}"traceEvents": [{{"ph":"X","cat":"cpu_op","name":"a","pid":1,"tid":1,"ts":1,"dur":2}}]}})",
        info);
  };
  const std::string folder = directory.path().string();
  const auto reading = [&] { (void)read_traces({folder}); };
  write("alexnet.json", "");
  write("vgg.json", "");
  EXPECT_THAT(reading, ::testing::ThrowsMessage<InputError>(::testing::AllOf(
                           HasSubstr("holds 2 recordings that are not the ranks of one job: alexnet.json, "
                                     "vgg.json"),
                           HasSubstr(fmt::format("'lockstep replay {}/alexnet.json'", folder)),
                           HasSubstr("does not say its rank"))));
  write("alexnet.json", R"("distributedInfo": {"rank": 0, "world_size": 2},)");
  write("vgg.json", R"("distributedInfo": {"rank": 3, "world_size": 8},)");
  EXPECT_THAT(reading, ::testing::ThrowsMessage<InputError>(HasSubstr("of a job of 8 ranks")));
}

TEST(Replay, FolderOfFoldersNamesTheOneWithTraces) {
  const test::TemporaryDirectory directory;
  std::filesystem::create_directories(directory.path() / "kineto");
  std::ofstream{directory.path() / "kineto" / "rank0.json"} << "{}";
  EXPECT_THAT([&] { (void)read_traces({directory.path().string()}); },
              ::testing::ThrowsMessage<InputError>(
                  HasSubstr(fmt::format("'lockstep replay {}/kineto'", directory.path().string()))));
}

/// Ranks 0 and 3 of four are replayed as a job of two, which says so; ranks of two jobs are none.
TEST(Replay, MissingRanksAreTold) {
  const test::TemporaryDirectory directory;
  const auto trace_of = [&](int rank, int world) {
    const auto path = directory.path() / fmt::format("rank{}_of{}.json", rank, world);
    std::ofstream{path} << fmt::format(
        R"({{"distributedInfo": {{"rank": {}, "world_size": {}}},
             "traceEvents": [{{"ph":"X","cat":"cpu_op","name":"a","pid":1,"tid":1,"ts":1,"dur":2}}]}})",
        rank, world);
    return path.string();
  };
  const auto report_of = [](const Replay& replay) { return to_text(replay.ranks.front().trace.report); };
  const std::vector<std::string> some{trace_of(0, 4), trace_of(3, 4)};
  EXPECT_THAT(report_of(make_replay(read_traces(some))), HasSubstr("rank 1 of 4"));
  EXPECT_THAT(report_of(make_replay(read_traces(some), 4)), Not(HasSubstr("rank 1 of 4")));
  EXPECT_THAT(report_of(make_replay(read_traces({some.front()}))), Not(HasSubstr("rank 1 of 4")));
  EXPECT_THAT(
      [&] {
        (void)make_replay(read_traces({some.front(), trace_of(1, 2)}));
      },
      ::testing::ThrowsMessage<InputError>(HasSubstr("of a job of 2 ranks")));
}

}  // namespace
}  // namespace lockstep::replay
