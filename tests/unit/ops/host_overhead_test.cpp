#include "ops/host_overhead.hpp"

#include <gtest/gtest.h>

#include <filesystem>

#include "base/yaml_reader.hpp"

namespace lockstep {
namespace {

using namespace lockstep::literals;

HostOverheads host() {
  HostOverheads of;
  of.fallback.before_first_launch = 20_us;
  of.operators["aten::relu"].before_first_launch = 8_us;
  of.runtime_calls = {{RuntimeCall::LaunchKernel, 4_us}, {RuntimeCall::EventRecord, 1_us}};
  return of;
}

TEST(HostOverheads, operators_that_are_not_listed_cost_the_fallback) {
  EXPECT_EQ(host().of("aten::relu").before_first_launch, 8_us);
  EXPECT_EQ(host().of("aten::frobnicate").before_first_launch, 20_us);
}

TEST(HostOverheads, calls_that_are_not_listed_cost_a_launch) {
  EXPECT_EQ(host().duration_of(RuntimeCall::EventRecord), 1_us);
  EXPECT_EQ(host().duration_of(RuntimeCall::MemcpyAsync), 4_us);
}

TEST(HostOverheads, negative_durations_and_a_missing_launch_are_refused) {
  HostOverheads negative = host();
  negative.between_operators = Seconds{-1e-6};
  EXPECT_THROW(negative.check(), FieldError);
  negative = host();
  negative.between_module_operators = Seconds{-1e-6};
  EXPECT_THROW(negative.check(), FieldError);
  negative = host();
  negative.backward_start = Seconds{-1e-6};
  EXPECT_THROW(negative.check(), FieldError);
  HostOverheads mute = host();
  mute.runtime_calls.erase(RuntimeCall::LaunchKernel);
  EXPECT_THROW(mute.check(), FieldError);
}

// Lin et al.: T1 averages 7.7 us, T4 is 4 us; a launch of the profiles lies between 2 and 10 us.
TEST(HostOverheads, shipped_profiles_read) {
  int read = 0;
  for (const auto& file : std::filesystem::directory_iterator(LOCKSTEP_SOURCE_DIR "/configs/hosts")) {
    const auto shipped = read_file<HostOverheads>(file.path());
    EXPECT_EQ(shipped.name, file.path().stem().string());
    EXPECT_GT(shipped.duration_of(RuntimeCall::LaunchKernel), 2_us);
    EXPECT_LT(shipped.duration_of(RuntimeCall::LaunchKernel), 10_us);
    EXPECT_TRUE(shipped.operators.contains("aten::linear")) << shipped.name;
    ++read;
  }
  EXPECT_GE(read, 3);
  const auto lin = read_file<HostOverheads>(LOCKSTEP_SOURCE_DIR "/configs/hosts/v100_lin_2022.yaml");
  EXPECT_NEAR(lin.between_operators / 1_us, 7.7, 0.05);
  EXPECT_EQ(lin.duration_of(RuntimeCall::LaunchKernel), 4_us);
}

TEST(HostOverheads, ModulesCostNothingUnlessItIsSaid) {
  HostOverheads some = host();
  EXPECT_EQ(some.between_modules(), some.between_operators);
  some.between_module_operators = 30_us;
  some.speed = 2;
  EXPECT_DOUBLE_EQ(some.at_speed().between_modules() / 1_us, 15);
}

TEST(HostOverheads, AFasterCpuDividesEveryTime) {
  HostOverheads twice = host();
  twice.between_operators = 8_us;
  twice.fallback.before_first_launch = 20_us;
  twice.speed = 2;
  const HostOverheads fast = twice.at_speed();
  EXPECT_DOUBLE_EQ(fast.between_operators / twice.between_operators, 0.5);
  EXPECT_DOUBLE_EQ(fast.fallback.before_first_launch / twice.fallback.before_first_launch, 0.5);
  for (const auto& [call, time] : twice.runtime_calls) {
    EXPECT_DOUBLE_EQ(fast.duration_of(call) / time, 0.5);
  }
  EXPECT_EQ(fast.speed, 1);
  twice.speed = 0;
  EXPECT_THROW(twice.check(), FieldError);
}

}  // namespace
}  // namespace lockstep
