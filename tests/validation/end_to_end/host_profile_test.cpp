// The shipped host of the 8 V100 is what `calibrate host` says of their traces.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "base/yaml_reader.hpp"
#include "calibration/hosts/host_profile.hpp"
#include "traces/replay/replay_job.hpp"

namespace lockstep::validation {
namespace {

using namespace lockstep::literals;

const std::filesystem::path kTraces = LOCKSTEP_SOURCE_DIR "/../shared/data/traces/dlrm_8xv100/kineto";

TEST(ShippedHost, FollowsFromItsTraces) {
  if (!std::filesystem::exists(kTraces)) {
    GTEST_SKIP() << "no traces at ../shared/data/traces/dlrm_8xv100";
  }
  HostProfileOptions options;
  options.name = "dgx1v_torchrec";
  options.traces = "dlrm_8xv100";
  options.event_cost = options.call_cost = 2_us;
  const auto shipped = read_file<HostOverheads>(LOCKSTEP_SOURCE_DIR "/configs/hosts/dgx1v_torchrec.yaml");
  options.start = shipped;
  HostSamples samples;
  for (const auto& trace : replay::read_windows({kTraces.string()})) {
    add_samples(trace, options.event_cost, samples);
  }
  const HostOverheads made = host_profile(samples, options).overheads;
  const double rounding = 0.11e-6;
  EXPECT_EQ(made.operators.size(), shipped.operators.size());
  for (const auto& [name, operator_] : shipped.operators) {
    const OperatorOverhead& other = made.of(name);
    for (const auto part : {&OperatorOverhead::before_first_launch, &OperatorOverhead::after_last_launch,
                            &OperatorOverhead::between_launches, &OperatorOverhead::without_launch}) {
      EXPECT_NEAR((other.*part).in_base_units(), (operator_.*part).in_base_units(), rounding) << name;
    }
    EXPECT_NEAR(other.spread, operator_.spread, 0.006) << name;
  }
  EXPECT_NEAR(made.between_operators.in_base_units(), shipped.between_operators.in_base_units(), rounding);
  EXPECT_NEAR(made.between_modules().in_base_units(), shipped.between_modules().in_base_units(), rounding);
  EXPECT_NEAR(made.spread, shipped.spread, 0.006);
  EXPECT_NEAR(made.backward_start.in_base_units(), shipped.backward_start.in_base_units(), rounding);
}

}  // namespace
}  // namespace lockstep::validation
