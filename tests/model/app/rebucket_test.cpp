/// @file
/// Gradients in other buckets than were recorded: a step of two gradients whose dates are worked out on
/// paper.
///
///     recorded, two buckets of 1 MB      us   20       120       220       272
///       stream 7                               g1 100 us | g2 100 us          | optimizer 274..284
///       stream 20                                          all-reduce 122..172   all-reduce 222..272

#include <gtest/gtest.h>

#include "app/replay_report.hpp"
#include "base/error.hpp"
#include "scenario/replay_run.hpp"
#include "tests/support/kineto_text.hpp"
#include "tests/support/scratch_folder.hpp"

namespace lockstep::testing {
namespace {

constexpr int kMegabyte = 250'000;  // elements of FP32
constexpr double kMicro = 1e-6;
constexpr double kGap = 2.1;  // us: a stream that waited for another may begin at once, or 2 us later
constexpr const char* kGradient = "autograd::engine::evaluate_function: torch::autograd::AccumulateGrad";
constexpr const char* kAllReduce = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgs)";

/// A gradient of 1 MB, 10 us on the host from @p at on.
KinetoText& gradient(KinetoText& trace, int at, int kernel_start, int correlation) {
  return trace.op(kGradient, at, 10)
      .op("torch::autograd::AccumulateGrad", at + 1, 2, 1, "[[500, 500]]")
      .call("cudaLaunchKernel", at + 1, 2, correlation)
      .kernel("gradient", kernel_start, 100, 7, correlation);
}

KinetoText& optimizer(KinetoText& trace, int start) {
  return trace.call("cudaStreamWaitEvent", 50, 1)
      .call("cudaLaunchKernel", 52, 2, 9)
      .kernel("optimizer", start, 10, 7, 9);
}

std::string two_buckets(int rank) {
  KinetoText trace{rank, 2};
  for (const int i : {0, 1}) {
    gradient(trace, 10 + 20 * i, 20 + 100 * i, 1 + i)
        .call("cudaStreamWaitEvent", 14 + 20 * i, 1)
        .call("cudaLaunchKernel", 15 + 20 * i, 2, 5 + i)
        .kernel(kAllReduce, 122 + 100 * i, 50, 20, 5 + i, all_reduced(kMegabyte, 2));
  }
  return optimizer(trace, 274).text();
}

/// The same, but the host launches the optimizer only when both buckets are long over.
std::string busy_host(int rank) {
  KinetoText trace{rank, 2};
  for (const int i : {0, 1}) {
    gradient(trace, 10 + 20 * i, 20 + 100 * i, 1 + i)
        .call("cudaStreamWaitEvent", 14 + 20 * i, 1)
        .call("cudaLaunchKernel", 15 + 20 * i, 2, 5 + i)
        .kernel(kAllReduce, 122 + 100 * i, 50, 20, 5 + i, all_reduced(kMegabyte, 2));
  }
  trace.call("cudaStreamWaitEvent", 50, 1)
      .call("cudaStreamWaitEvent", 51, 1)
      .op("Optimizer.step#SGD.step", 52, 400);
  return trace.call("cudaLaunchKernel", 440, 2, 9).kernel("optimizer", 444, 10, 7, 9).text();
}

std::string one_bucket(int rank) {
  KinetoText trace{rank, 2};
  gradient(trace, 10, 20, 1);
  gradient(trace, 30, 120, 2)
      .call("cudaStreamWaitEvent", 34, 1)
      .call("cudaLaunchKernel", 35, 2, 5)
      .kernel(kAllReduce, 222, 100, 20, 5, all_reduced(2 * kMegabyte, 2));
  return optimizer(trace, 324).text();
}

class Buckets : public ::testing::Test {
 protected:
  using Trace = std::string (*)(int rank);

  /// @return when the last work of rank 0 ends, us from the window's start (10 us)
  double end_with(Trace trace, const std::string& buckets) const {
    const ReplayRun run = replay(trace, buckets);
    const replay::WhatIfSpec* change = buckets.empty() ? nullptr : &run.spec().what_if;
    result_ = run.simulate(change);
    return result_.ranks[0].last_end.simulated / kMicro;
  }
  [[nodiscard]] ReplayRun replay(Trace trace, const std::string& buckets) const {
    folder_.write("0.json", trace(0));
    folder_.write("1.json", trace(1));
    const std::string edits = buckets.empty() ? "{}" : "what_if: {buckets: " + buckets + "}";
    return {{folder_.path().string()}, YamlDocument::from_text(edits, "edits"), ConfigPath::standard()};
  }

  test::ScratchFolder folder_;
  mutable ReplayRun::Result result_;
};

TEST_F(Buckets, AreAsRecordedWithoutAChange) {
  EXPECT_NEAR(end_with(two_buckets, ""), 274, 0.1);
  EXPECT_NEAR(end_with(one_bucket, ""), 324, kGap);
  EXPECT_NEAR(end_with(two_buckets, "{size: 1 MB}"), 274, 0.1);
  EXPECT_EQ(result_.remark, "2 all-reduces of gradients a rank instead of 2, 2 MB");
}

/// 2 MB take 100 us (1 MB: 50 us), from where the second began, and the optimizer waits 2 us longer.
TEST_F(Buckets, MergedIntoOneIsSentWithItsLastGradient) {
  EXPECT_NEAR(end_with(two_buckets, "{size: 4 MB}"), 324, kGap);
  EXPECT_EQ(result_.remark, "1 all-reduces of gradients a rank instead of 2, 2 MB");
  EXPECT_NEAR(result_.ranks[0].communication.simulated / kMicro, 100, 0.1);
}

/// The first half is sent while the second gradient is computed.
TEST_F(Buckets, CutInTwoOverlapsItsFirstHalf) {
  EXPECT_NEAR(end_with(one_bucket, "{size: 1 MB}"), 274, kGap);
  EXPECT_EQ(result_.remark, "2 all-reduces of gradients a rank instead of 1, 2 MB");
}

/// In reversed order the first bucket holds the gradient that is ready last: both are sent behind it, one
/// after the other, 2 us apart.
TEST_F(Buckets, InReversedOrderNothingOverlaps) {
  EXPECT_NEAR(end_with(two_buckets, "{size: 1 MB, order: reversed}"), 326, 2 * kGap);
}

/// As one of 2 A100 (docs/replay.md): both buckets are over at 324, long before the host launches what waits
/// for them; the order does not matter. With four times the bytes it does: 122 + 2 * 200 against
/// 222 + 2 * 200 + 2, the optimizer's 10 behind each and 10 before the window.
TEST_F(Buckets, InReversedOrderNothingIsLostWhileTheHostIsBusy) {
  EXPECT_NEAR(end_with(busy_host, ""), 444, 0.1);
  EXPECT_NEAR(end_with(busy_host, "{size: 1 MB, order: reversed}"), 444, 0.1);
  EXPECT_NEAR(end_with(busy_host, "{size: 1 MB}, communication: 4"), 522, kGap);
  EXPECT_NEAR(end_with(busy_host, "{size: 1 MB, order: reversed}, communication: 4"), 624, 2 * kGap);
}

TEST_F(Buckets, OfNoGradientsCannotBeChanged) {
  const Trace without = [](int rank) {
    KinetoText trace{rank, 2};
    return optimizer(trace, 60).text();
  };
  const ReplayRun run = replay(without, "{size: 1 MB}");
  EXPECT_THROW((void)run.simulate(&run.spec().what_if), InputError);
}

}  // namespace
}  // namespace lockstep::testing
