#include "search/sharding/input_costs.hpp"

#include <gtest/gtest.h>

#include <array>

#include "tests/support/small_machines.hpp"

namespace lockstep::sharding {
namespace {

using lockstep::testing::Sketch;
using namespace lockstep::literals;

/// GPUs 0 and 1 behind a switch with 12 GB/s to the socket, GPU 2 behind one of its own; a copy alone takes
/// 10 GB/s.
class TwoBehindASwitch : public ::testing::Test {
 protected:
  TwoBehindASwitch() {
    Sketch sketch;
    const VertexId socket = sketch.add(VertexKind::CpuSocket, 0, 0, "node0.cpu0");
    for (int i = 0; i < 2; ++i) {
      switches_[static_cast<std::size_t>(i)] =
          sketch.add(VertexKind::PcieSwitch, 0, i, fmt::format("node0.plx{}", i));
      sketch.connect(socket, switches_[static_cast<std::size_t>(i)], LinkKind::Pcie, 12_GBps, 1_us);
    }
    for (int gpu = 0; gpu < 3; ++gpu) {
      const VertexId vertex = sketch.add(VertexKind::Gpu, 0, gpu, fmt::format("node0.gpu{}", gpu));
      sketch.connect(switches_[gpu < 2 ? 0 : 1], vertex, LinkKind::Pcie, 16_GBps, 1_us);
    }
    fabric_ = std::make_unique<Fabric>(sketch.fabric());
    costs_ = std::make_unique<InputCosts>(*fabric_, fabric_->gpus(), std::vector(3, 10_GBps), 1_GB);
  }

  /// Seconds beyond a copy alone, with so many GB for each GPU.
  [[nodiscard]] double held_up(std::size_t gpu, const std::array<double, 3>& gigabytes) const {
    return costs_->held_up(gpu, gigabytes) / 1_s;
  }

  std::array<VertexId, 2> switches_{};
  std::unique_ptr<Fabric> fabric_;
  std::unique_ptr<InputCosts> costs_;
};

/// 12 GB/s between two are 6 each: 6 GB take 1 s instead of 0.6 s. GPU 2 has its link alone.
TEST_F(TwoBehindASwitch, EqualCopiesShareALink) {
  EXPECT_NEAR(held_up(0, {6, 6, 6}), 0.4, 1e-12);
  EXPECT_NEAR(held_up(1, {6, 6, 6}), 0.4, 1e-12);
  EXPECT_NEAR(held_up(2, {6, 6, 6}), 0, 1e-12);
  EXPECT_NEAR(costs_->alone(0, 6) / 1_s, 0.6, 1e-12);
}

/// 3 GB beside 9: the small one is there after 3 + 3 GB, 0.5 s instead of 0.3; the large one after all 12, 1
/// s instead of 0.9.
TEST_F(TwoBehindASwitch, TheSmallerOneIsThereFirst) {
  EXPECT_NEAR(held_up(0, {3, 9, 0}), 0.5 - 0.3, 1e-12);
  EXPECT_NEAR(held_up(1, {3, 9, 0}), 1.0 - 0.9, 1e-12);
}

/// Alone on the link a copy has its own rate, not the link's.
TEST_F(TwoBehindASwitch, NobodyHoldsUpASingleCopy) {
  EXPECT_NEAR(held_up(0, {6, 0, 6}), 0, 1e-12);
}

/// 12 GB/s for two and 10 for the third: 22 GB take 1 s at least; here they do, 12 GB behind the switch.
TEST_F(TwoBehindASwitch, NoDivisionIsFasterThanAllLinks) {
  EXPECT_NEAR(costs_->at_least(22) / 1_s, 1, 1e-12);
  const std::array<double, 3> divided{6, 6, 10};
  for (std::size_t gpu = 0; gpu < 3; ++gpu) {
    EXPECT_NEAR((costs_->alone(gpu, divided[gpu]) + costs_->held_up(gpu, divided)) / 1_s, 1, 1e-12);
  }
}

/// The two behind the switch wait for all 12 GB and for twice the smaller part: 1 and 1 s, or 1 and 0.5.
TEST_F(TwoBehindASwitch, TheFewerTheOthersHaveTheEarlierTheyAreDone) {
  const InputCosts::Groups& groups = costs_->groups();
  EXPECT_EQ(groups.most, 2);
  EXPECT_EQ(groups.slowest, 10_GBps);
  EXPECT_EQ(groups.fastest, 12_GBps);
  EXPECT_EQ(groups.together, 22_GBps);
  for (const double first : {6.0, 9.0}) {
    const std::array<double, 3> divided{12 - first, first, 0};
    double all = 0;
    for (std::size_t gpu = 0; gpu < 3; ++gpu) {
      all += (costs_->alone(gpu, divided[gpu]) + costs_->held_up(gpu, divided)) / 1_s;
    }
    EXPECT_NEAR(costs_->sum_at_least(first, 12) / 1_s, all, 1e-12);
  }
}

}  // namespace
}  // namespace lockstep::sharding
