#include "calibration/hosts/host_profile.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <stdexcept>
#include <string>

#include "tests/support/host_recording.hpp"

namespace lockstep::testing {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

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
  // The spread of all: three calls of 60 +- 10 and three of 100 (those seen once count for nothing).
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
  EXPECT_THAT([] { (void)host_profile(HostRecording{}.op("aten::view", 0, 5).samples(2_us), options()); },
              ::testing::ThrowsMessage<std::invalid_argument>(HasSubstr("launches anything")));
}

}  // namespace
}  // namespace lockstep::testing
