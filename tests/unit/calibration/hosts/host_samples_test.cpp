#include "calibration/hosts/host_samples.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/support/host_recording.hpp"

namespace lockstep::testing {
namespace {

using kineto::CallKind;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(HostSamples, AreGapsLessTheProfilersCost) {
  const HostSamples samples = linear_and_view();
  const OperatorSamples& linear = samples.operators.at("aten::linear");
  EXPECT_THAT(linear.before_first_launch, ElementsAre(micros(20 - 2)));  // addmm began in it
  EXPECT_THAT(linear.between_launches, ElementsAre(micros(150 - 126)));
  EXPECT_THAT(linear.after_last_launch, ElementsAre(micros(200 - 160)));
  EXPECT_THAT(linear.without_launch, IsEmpty());
  EXPECT_THAT(samples.operators.at("aten::view").without_launch, ElementsAre(micros(4 - 2)));
  EXPECT_THAT(samples.between_module_operators, IsEmpty());  // aten::view begins none
  EXPECT_THAT(samples.calls.at(RuntimeCall::LaunchKernel), ElementsAre(micros(6)));
  EXPECT_THAT(samples.calls.at(RuntimeCall::MemcpyAsync), ElementsAre(micros(10)));
  EXPECT_FALSE(samples.operators.contains("aten::addmm"));
}

TEST(HostSamples, LeaveOutWaitsForTheGpu) {
  const HostSamples samples = HostRecording{}
                                  .op("aten::item", 0, 500)
                                  .call("cudaLaunchKernel", CallKind::Launch, 10, 15)
                                  .call("cudaStreamSynchronize", CallKind::StreamSync, 20, 400)
                                  .call("cudaLaunchKernel", CallKind::Launch, 410, 415)
                                  .work(30, 393)
                                  .samples(2_us);
  EXPECT_THAT(samples.operators.at("aten::item").between_launches, IsEmpty());
  EXPECT_THAT(samples.synchronize_return, ElementsAre(micros(400 - 393)));
}

/// .item(): a copy and 5 ms in which it is waited for, 4 us before and 5 us behind.
TEST(HostSamples, WaitsBehindTheLastLaunchAreNotTheHosts) {
  const HostSamples samples = HostRecording{}
                                  .op("aten::item", 0, 5031)
                                  .call("cudaStreamSynchronize", CallKind::StreamSync, 1, 4)
                                  .call("cudaMemcpyAsync", CallKind::Launch, 10, 16)
                                  .call("cudaStreamSynchronize", CallKind::StreamSync, 20, 5024)
                                  .op("aten::is_nonzero", 6000, 9000)
                                  .call("cudaDeviceSynchronize", CallKind::DeviceSync, 6010, 8990)
                                  .samples(2_us);
  const OperatorSamples& item = samples.operators.at("aten::item");
  EXPECT_THAT(item.before_first_launch, ElementsAre(micros(10 - 3 - 2)));
  EXPECT_THAT(item.after_last_launch, ElementsAre(micros(4 + 7 - 2)));
  EXPECT_THAT(samples.operators.at("aten::is_nonzero").without_launch, ElementsAre(micros(20 - 2 - 2)));
}

/// 100 us between two operators of an optimizer, 90 of them waiting: a gap of the host is 30 us long.
TEST(HostSamples, WaitsBetweenOperatorsAreNotTheHosts) {
  const HostSamples samples = HostRecording{}
                                  .op("Optimizer.step#SGD.step", 0, 1000)
                                  .op("aten::add_", 10, 20)
                                  .call("cudaStreamSynchronize", CallKind::StreamSync, 25, 115)
                                  .op("aten::add_", 120, 130)
                                  .op("aten::add_", 160, 170)
                                  .samples(0_us);
  EXPECT_THAT(samples.between_operators, ElementsAre(micros(30)));
}

/// The caller goes on 10 us after the last operator of autograd's thread, and waits for the GPU first.
TEST(HostSamples, WaitsBehindBackwardAreNotItsReturn) {
  const HostSamples samples = HostRecording{}
                                  .op("aten::ones_like", 0, 10)
                                  .op("MmBackward0", 50, 100, 1)
                                  .call("cudaDeviceSynchronize", CallKind::DeviceSync, 110, 5000)
                                  .op("aten::add_", 5010, 5020)
                                  .samples(0_us);
  EXPECT_THAT(samples.backward_return, ElementsAre(micros(10)));
}

TEST(HostSamples, MemoryOfTheDriverCountsAsCallsOfItsOwn) {
  const HostSamples samples = HostRecording{}
                                  .op("aten::bmm", 0, 5000)
                                  .call("cudaMalloc", CallKind::Memory, 10, 4010)
                                  .call("cudaLaunchKernel", CallKind::Launch, 4020, 4025)
                                  .call("cudaHostAlloc", CallKind::Memory, 4030, 4930)
                                  .op("aten::empty", 5010, 5310)
                                  .call("cudaFree", CallKind::Memory, 5012, 5300)
                                  .samples(2_us);
  EXPECT_THAT(samples.operators.at("aten::bmm").before_first_launch, ElementsAre(micros(20 - 2)));
  EXPECT_THAT(samples.operators.at("aten::bmm").after_last_launch, ElementsAre(micros(75 - 2)));
  EXPECT_THAT(samples.operators.at("aten::empty").without_launch, ElementsAre(micros(12 - 2 - 2)));
  EXPECT_THAT(samples.calls.at(RuntimeCall::Malloc), ElementsAre(micros(4000)));
  EXPECT_THAT(samples.calls.at(RuntimeCall::Free), ElementsAre(micros(288)));
}

TEST(HostSamples, ACopyOfPageableMemoryIsNoLaunch) {
  const HostSamples samples = HostRecording{}
                                  .op("aten::copy_", 0, 2000)
                                  .call("cudaMemcpyAsync", CallKind::Launch, 10, 1800)
                                  .work(20, 1790, "Memcpy HtoD (Pageable -> Device)")
                                  .op("aten::copy_", 2010, 2100)
                                  .call("cudaMemcpyAsync", CallKind::Launch, 2020, 2029)
                                  .work(2050, 2090, "Memcpy HtoD (Pinned -> Device)")
                                  .call("cudaMemcpy", CallKind::Launch, 2040, 2090)
                                  .samples(0_us);
  EXPECT_THAT(samples.calls.at(RuntimeCall::MemcpyAsync), ElementsAre(micros(9)));
}

/// A copy of 7 us, so many launches 10 us apart, then a copy and a memset that end when the first two kernels
/// start, 20 ms after the beginning, and a copy of 8 us when half of them have started.
HostSamples launches_ahead_of_the_gpu(int launches) {
  HostRecording recording;
  recording.call("cudaMemcpyAsync", CallKind::Launch, 0, 7).work(15, 20, "Memcpy HtoD (Pinned -> Device)");
  for (int i = 0; i < launches; ++i) {
    const double kernel = 20'000 + 100 * i;
    recording.call("cudaLaunchKernel", CallKind::Launch, 10 + 10 * i, 15 + 10 * i).work(kernel, kernel + 99);
  }
  const double last = 20'000 + 100 * launches;
  recording.call("cudaMemcpyAsync", CallKind::Launch, 19'000, 20'004).work(last, last + 1);
  recording.call("cudaMemsetAsync", CallKind::Launch, 20'010, 20'103).work(last + 1, last + 2);
  const double later = 20'010 + 50 * launches;
  recording.call("cudaMemcpyAsync", CallKind::Launch, later, later + 8).work(last + 2, last + 3);
  return recording.samples(0_us);
}

TEST(HostSamples, ACallThatWaitsForAFullQueueIsNoLaunch) {
  const HostSamples samples = launches_ahead_of_the_gpu(1000);
  EXPECT_THAT(samples.calls.at(RuntimeCall::MemcpyAsync), ElementsAre(micros(7), micros(8)));
  EXPECT_FALSE(samples.calls.contains(RuntimeCall::MemsetAsync));
  EXPECT_EQ(samples.calls.at(RuntimeCall::LaunchKernel).size(), 1000);  // nobody waited for the GPU to begin
  EXPECT_EQ(samples.at_full_queue, 2);
}

TEST(HostSamples, AQueueOfFewLaunchesIsNotFull) {
  const HostSamples samples = launches_ahead_of_the_gpu(400);
  EXPECT_THAT(samples.calls.at(RuntimeCall::MemcpyAsync), ElementsAre(micros(7), micros(1004), micros(8)));
  EXPECT_EQ(samples.at_full_queue, 0);
}

TEST(HostSamples, TheQueueHoldsWhatWasLaunchedBeforeTheTrace) {
  const auto copies = [](bool after_a_known_one) {
    HostRecording recording;
    if (after_a_known_one) recording.call("cudaLaunchKernel", CallKind::Launch, 0, 5).work(6, 9);
    for (int i = 0; i < 1000; ++i) recording.work_alone(1000 + 10 * i, 1009 + 10 * i);
    return recording.call("cudaMemcpyAsync", CallKind::Launch, 500, 1004).work(11'000, 11'001).samples(0_us);
  };
  EXPECT_EQ(copies(false).at_full_queue, 1);
  EXPECT_EQ(copies(true).at_full_queue, 0);  // calls that were not recorded launched them, who knows when
}

TEST(HostSamples, HandOverBetweenThreads) {
  const std::string wrapper = "autograd::engine::evaluate_function: AddmmBackward0";
  const HostSamples samples = HostRecording{}
                                  .op("aten::mse_loss", 0, 50)
                                  .op("aten::ones_like", 60, 80)
                                  .op(wrapper, 230, 300, 1)
                                  .op(wrapper, 310, 400, 1)
                                  .op("aten::add_", 490, 500)
                                  .samples(0_us);
  EXPECT_THAT(samples.backward_start, ElementsAre(micros(230 - 80)));
  EXPECT_THAT(samples.backward_return, ElementsAre(micros(490 - 400)));
  EXPECT_THAT(samples.between_operators, ElementsAre(micros(310 - 300)));
  EXPECT_THAT(samples.between_module_operators, IsEmpty());
  EXPECT_TRUE(samples.operators.contains("AddmmBackward0"));
}

TEST(HostSamples, ModulesBeginWithTheirOperators) {
  const HostSamples samples = HostRecording{}
                                  .op("aten::relu", 0, 10)
                                  .op("aten::linear", 32, 50)
                                  .op("aten::gelu", 53, 60)
                                  .op("aten::dropout", 300, 310)  // 240 us later: not between
                                  .samples(2_us);
  EXPECT_THAT(samples.between_module_operators, ElementsAre(micros(32 - 10 - 2)));
  EXPECT_THAT(samples.between_operators, IsEmpty());
}

TEST(HostSamples, AnOptimizersLoopHasNoModules) {
  const HostSamples samples = HostRecording{}
                                  .op("aten::relu", 0, 10)
                                  .op("Optimizer.step#SGD.step", 15, 100)
                                  .op("aten::add_", 30, 40)
                                  .op("aten::add_", 45, 50)
                                  .samples(0_us);
  EXPECT_THAT(samples.between_operators, ElementsAre(micros(30 - 10), micros(45 - 40)));
  EXPECT_THAT(samples.between_module_operators, IsEmpty());
}

}  // namespace
}  // namespace lockstep::testing
