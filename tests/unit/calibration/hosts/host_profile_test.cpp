#include "calibration/hosts/host_profile.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <optional>
#include <stdexcept>
#include <string>

namespace lockstep::testing {
namespace {

using namespace lockstep::literals;
using ::testing::Contains;
using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::ResultOf;

auto micros(double expected) {
  return ResultOf([](Seconds time) { return 1e6 * time.in_base_units(); }, DoubleNear(expected, 1e-6));
}

/// Two threads; times in us.
class Recording {
 public:
  Recording() { trace_.threads.resize(2); }

  Recording& op(const std::string& name, double start, double end, std::uint32_t thread = 0) {
    kineto::Operator& made = trace_.operators.emplace_back();
    made.start = ns(start);
    made.end = ns(end);
    made.name = trace_.names.number(name);
    made.thread = thread;
    return *this;
  }
  Recording& call(const std::string& name, kineto::CallKind kind, double start, double end) {
    kineto::Call& made = trace_.calls.emplace_back();
    made.start = ns(start);
    made.end = ns(end);
    made.name = trace_.names.number(name);
    made.kind = kind;
    made.correlation = static_cast<std::int64_t>(trace_.calls.size());
    return *this;
  }
  /// Of the latest call.
  Recording& work(double start, double end, const std::string& name = "kernel") {
    kineto::Work& made = trace_.work.emplace_back();
    made.start = ns(start);
    made.end = ns(end);
    made.name = trace_.names.number(name);
    made.correlation = static_cast<std::int64_t>(trace_.calls.size());
    return *this;
  }
  /// Of no call that was recorded.
  Recording& work_alone(double start, double end) {
    work(start, end);
    trace_.work.back().correlation = 1'000'000;
    return *this;
  }
  [[nodiscard]] HostSamples samples(Seconds event_cost) const {
    HostSamples made;
    add_samples(trace_, event_cost, made);
    return made;
  }

 private:
  static kineto::Nanoseconds ns(double us) { return static_cast<kineto::Nanoseconds>(1000 * us); }
  kineto::RecordedTrace trace_;
};

using kineto::CallKind;

/// aten::linear of 100 us with an operator within and two launches, and aten::view 10 us later.
HostSamples linear_and_view() {
  return Recording{}
      .op("ProfilerStep#3", 0, 1000)
      .op("aten::linear", 100, 200)
      .op("aten::addmm", 105, 195)
      .call("cudaLaunchKernel", CallKind::Launch, 120, 126)
      .call("cudaMemcpyAsync", CallKind::Launch, 150, 160)
      .op("aten::view", 210, 214)
      .samples(2_us);
}

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
  const HostSamples samples = Recording{}
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
  const HostSamples samples = Recording{}
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
  const HostSamples samples = Recording{}
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
  const HostSamples samples = Recording{}
                                  .op("aten::ones_like", 0, 10)
                                  .op("MmBackward0", 50, 100, 1)
                                  .call("cudaDeviceSynchronize", CallKind::DeviceSync, 110, 5000)
                                  .op("aten::add_", 5010, 5020)
                                  .samples(0_us);
  EXPECT_THAT(samples.backward_return, ElementsAre(micros(10)));
}

TEST(HostSamples, MemoryOfTheDriverCountsAsCallsOfItsOwn) {
  const HostSamples samples = Recording{}
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
  const HostSamples samples = Recording{}
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
  Recording recording;
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
    Recording recording;
    if (after_a_known_one) recording.call("cudaLaunchKernel", CallKind::Launch, 0, 5).work(6, 9);
    for (int i = 0; i < 1000; ++i) recording.work_alone(1000 + 10 * i, 1009 + 10 * i);
    return recording.call("cudaMemcpyAsync", CallKind::Launch, 500, 1004).work(11'000, 11'001).samples(0_us);
  };
  EXPECT_EQ(copies(false).at_full_queue, 1);
  EXPECT_EQ(copies(true).at_full_queue, 0);  // calls that were not recorded launched them, who knows when
}

TEST(HostSamples, HandOverBetweenThreads) {
  const std::string wrapper = "autograd::engine::evaluate_function: AddmmBackward0";
  const HostSamples samples = Recording{}
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
  const HostSamples samples = Recording{}
                                  .op("aten::relu", 0, 10)
                                  .op("aten::linear", 32, 50)
                                  .op("aten::gelu", 53, 60)
                                  .op("aten::dropout", 300, 310)  // 240 us later: not between
                                  .samples(2_us);
  EXPECT_THAT(samples.between_module_operators, ElementsAre(micros(32 - 10 - 2)));
  EXPECT_THAT(samples.between_operators, IsEmpty());
}

TEST(HostSamples, AnOptimizersLoopHasNoModules) {
  const HostSamples samples = Recording{}
                                  .op("aten::relu", 0, 10)
                                  .op("Optimizer.step#SGD.step", 15, 100)
                                  .op("aten::add_", 30, 40)
                                  .op("aten::add_", 45, 50)
                                  .samples(0_us);
  EXPECT_THAT(samples.between_operators, ElementsAre(micros(30 - 10), micros(45 - 40)));
  EXPECT_THAT(samples.between_module_operators, IsEmpty());
}

HostProfileOptions options() {
  HostProfileOptions made;
  made.name = "mine";
  made.traces = "trace.json";
  made.event_cost = made.call_cost = 2_us;
  made.start.name = "other";
  made.start.backward_start = 123_us;
  made.start.between_operators = 6_us;
  made.start.runtime_calls = {{RuntimeCall::LaunchKernel, 5_us}, {RuntimeCall::EventRecord, 0.7_us}};
  return made;
}

TEST(HostProfile, SpreadIsThatOfTheCallsOfAnOperator) {
  HostSamples samples = linear_and_view();
  samples.operators["aten::even"].before_first_launch = {100_us, 100_us, 100_us};
  OperatorSamples& uneven = samples.operators["aten::uneven"];
  uneven.before_first_launch = {10_us, 20_us, 30_us};  // 20 +- 10
  uneven.after_last_launch = {40_us, 40_us, 40_us};
  const HostProfile made = host_profile(samples, options());
  EXPECT_NEAR(made.overheads.of("aten::uneven").spread, 10.0 / 60, 0.005);
  EXPECT_EQ(made.overheads.of("aten::even").spread, 0);
  EXPECT_EQ(made.overheads.of("aten::linear").spread, 0);  // seen once
  // Of all: three calls of 60 +- 10 and three of 100 (those seen once count for nothing).
  EXPECT_NEAR(made.overheads.spread, std::sqrt(100.0 / (60 * 60 + 100 * 100)), 0.005);
}

TEST(HostProfile, TakesFromTheStartWhatNoTraceShows) {
  const HostProfile made = host_profile(linear_and_view(), options());
  EXPECT_THAT(made.overheads.backward_start, micros(123));
  EXPECT_THAT(made.overheads.duration_of(RuntimeCall::EventRecord), micros(0.7));
  EXPECT_THAT(made.overheads.duration_of(RuntimeCall::LaunchKernel), micros(4));
  EXPECT_THAT(made.overheads.duration_of(RuntimeCall::LaunchCollective), micros(4));
  EXPECT_THAT(made.overheads.between_modules(), micros(6));
  EXPECT_THAT(made.overheads.between_operators, micros(6));
  EXPECT_THAT(made.overheads.of("aten::linear").between_launches, micros(24));
  // aten::view was never seen to launch: as the median operator, here the only one.
  EXPECT_THAT(made.overheads.of("aten::view").between_launches, micros(24));
  EXPECT_THAT(made.missing, Contains("backward_start"));
  EXPECT_THAT(made.text, HasSubstr("backward_start: derived, other's"));
}

TEST(HostProfile, TakesFromAFasterStartWhatItsSpeedLeaves) {
  HostProfileOptions faster = options();
  faster.start.speed = 1.5;
  const HostProfile made = host_profile(linear_and_view(), faster);
  EXPECT_THAT(made.overheads.backward_start, micros(123 / 1.5));
  EXPECT_THAT(made.overheads.between_operators, micros(6 / 1.5));
  EXPECT_THAT(made.overheads.duration_of(RuntimeCall::LaunchKernel), micros(4));  // of the trace
  EXPECT_THAT(made.text, HasSubstr("backward_start: derived, other's at its speed of 1.5"));
}

TEST(HostProfile, TakesFromTheStartAPartThatNoOperatorShows) {
  HostProfileOptions with_parts = options();
  with_parts.start.fallback.between_launches = 8_us;
  HostSamples samples = linear_and_view();
  samples.operators.at("aten::linear").between_launches.clear();
  const HostProfile made = host_profile(samples, with_parts);
  EXPECT_THAT(made.overheads.fallback.between_launches, micros(8));
  EXPECT_THAT(made.overheads.of("aten::linear").between_launches, micros(8));
  EXPECT_THAT(made.missing, Contains("fallback.between_launches"));
  EXPECT_EQ(evidence_for(made.overheads.provenance, "fallback.between_launches").is, Provenance::Derived);
}

TEST(HostProfile, TellsHowMuchSlowerThanTheStartItsOperatorsAre) {
  HostProfileOptions with_operators = options();
  EXPECT_EQ(host_profile(linear_and_view(), with_operators).slower, std::nullopt);  // none in common
  with_operators.start.speed = 2;
  with_operators.start.operators["aten::linear"] = {10_us, 19_us, 1_us,
                                                    0_us};  // T2 and T3: 14.5 us at its speed
  EXPECT_NEAR(host_profile(linear_and_view(), with_operators).slower.value(), (18 + 40) / 14.5, 1e-3);
}

// Calls of 6 and 10 us, less the profiler's cost of 1 us, where the start has 1 and 3.1: one waited, it
// seems, unless all of the host is as slow.
TEST(HostProfile, TellsCallsThatAreLongerThanOperators) {
  HostProfileOptions with_calls = options();
  with_calls.call_cost = 1_us;
  with_calls.start.speed = 1;
  with_calls.start.runtime_calls[RuntimeCall::LaunchKernel] = 1_us;
  with_calls.start.runtime_calls[RuntimeCall::MemcpyAsync] = 3.1_us;
  const HostProfile made = host_profile(linear_and_view(), with_calls);
  ASSERT_EQ(made.slow_calls.size(), 1U);
  EXPECT_EQ(made.slow_calls[0].key, "runtime_calls.launch_kernel");
  EXPECT_NEAR(made.slow_calls[0].factor, 5, 1e-9);
  with_calls.start.operators["aten::linear"] = {5_us, 10_us, 1_us, 0_us};  // 3.9 times as fast
  EXPECT_THAT(host_profile(linear_and_view(), with_calls).slow_calls, IsEmpty());
}

TEST(HostProfile, CallsNothingMeasuredThatWasSimulated) {
  HostProfileOptions simulated = options();
  simulated.simulated = true;
  const HostProfile made = host_profile(linear_and_view(), simulated);
  for (const char* key : {"operators", "runtime_calls.launch_kernel"}) {
    const Evidence told = evidence_for(made.overheads.provenance, key);
    EXPECT_EQ(told.is, Provenance::Derived) << key;
    EXPECT_THAT(told.source, HasSubstr("simulated by Lockstep")) << key;
    EXPECT_THAT(told.source, Not(HasSubstr("less"))) << key;
  }
}

TEST(HostProfile, CallsNothingMeasuredThatObserversMadeLonger) {
  HostProfileOptions observed = options();
  observed.observed = true;
  observed.observers = "record_shapes";
  const ProvenanceTable told = host_profile(linear_and_view(), observed).overheads.provenance;
  for (const char* key : {"operators", "operators.aten::linear", "operators.aten::view",
                          "runtime_calls.launch_kernel", "between_operators"}) {
    EXPECT_EQ(evidence_for(told, key).is, Provenance::Derived) << key;
  }
  EXPECT_THAT(evidence_for(told, "operators").source, HasSubstr("recorded with record_shapes"));
  observed.observers.clear();  // an execution trace observer leaves nothing in the file to tell it by
  const ProvenanceTable unnamed = host_profile(linear_and_view(), observed).overheads.provenance;
  EXPECT_EQ(evidence_for(unnamed, "operators").is, Provenance::Derived);
  EXPECT_THAT(evidence_for(unnamed, "operators").source, HasSubstr("recorded with observers"));
}

TEST(HostProfile, TellsPartsThatWereNeverSeenFromMeasuredOnes) {
  HostSamples samples = linear_and_view();
  samples.operators["aten::all"] = {{1_us}, {2_us}, {3_us}, {4_us}};
  const ProvenanceTable told = host_profile(samples, options()).overheads.provenance;
  const auto source = [&](const std::string& key) { return evidence_for(told, key).source; };
  EXPECT_EQ(source("operators.aten::view"),
            "as all operators: without_launch; guessed, as fallback, since never seen: before_first_launch, "
            "after_last_launch, between_launches");
  EXPECT_EQ(evidence_for(told, "operators.aten::view").is, Provenance::Measured);
  EXPECT_THAT(source("operators.aten::all"), HasSubstr("trace.json"));  // that of all operators
}

TEST(HostProfile, DropsOutliersOfOperators) {
  HostSamples samples = linear_and_view();
  // Quartiles 8 and 9.25 us: 50 us is further out than 1.5 times their distance.
  samples.operators["aten::mul"].before_first_launch = {8_us, 8_us, 9_us, 9_us, 9_us, 50_us};
  EXPECT_THAT(host_profile(samples, options()).overheads.of("aten::mul").before_first_launch, micros(8.6));
}

TEST(HostProfile, CountsAllGapsBetweenOperators) {
  HostSamples samples = linear_and_view();
  samples.between_operators = {8_us, 8_us, 9_us, 9_us, 9_us, 50_us};
  samples.between_module_operators = {20_us, 41_us};
  const HostOverheads made = host_profile(samples, options()).overheads;
  EXPECT_THAT(made.between_operators, micros(15.5));
  EXPECT_THAT(made.between_modules(), micros(30.5));
}

TEST(HostProfile, NeedsLaunches) {
  EXPECT_THAT([] { (void)host_profile(Recording{}.op("aten::view", 0, 5).samples(2_us), options()); },
              ::testing::ThrowsMessage<std::invalid_argument>(HasSubstr("launches anything")));
}

}  // namespace
}  // namespace lockstep::testing
