#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "app/answer.hpp"

namespace lockstep {
namespace {

ResolvedScenario two_steps() {
  return build(YamlDocument::from_text("name: x\ncluster: single_v100_16gb x 1\nsteps: 2\n"
                                       "workload: {model: dlrm_default, global_batch: 2048}\n",
                                       "scenario.yaml"),
               ConfigPath::standard());
}

/// A run of two ranks, 1 s long in two steps, whose GPUs compute @p compute s in all and whose last work ends
/// at
/// @p ends.
SimulationResult result_of(std::array<double, 2> compute, std::array<double, 2> ends) {
  SimulationResult result;
  result.step_ends = {0.5, 1};
  for (std::uint32_t rank = 0; rank < 2; ++rank) {
    result.ranks.emplace_back().end = ends.at(rank);
    result.metered.emplace_back().rank = rank;
    result.metered.back().activity.compute = compute.at(rank);
  }
  return result;
}

std::map<std::string, double> shares_of(std::array<double, 2> compute, std::array<double, 2> ends) {
  std::map<std::string, double> shares;
  for (const TimeShare& share : time_shares(two_steps(), result_of(compute, ends))) {
    shares[name_of(share)] = share.seconds;
  }
  return shares;
}

TEST(TimeShares, ARankThatIsDoneIsNotHostBound) {
  const auto shares = shares_of({0.8, 0.4}, {1, 0.6});
  EXPECT_EQ(shares.size(), 3U);
  EXPECT_DOUBLE_EQ(shares.at("compute"), 0.3);             // (0.8 + 0.4) / 2 ranks / 2 steps
  EXPECT_DOUBLE_EQ(shares.at("done before others"), 0.1);  // (0 + 0.4) / 2 / 2
  EXPECT_DOUBLE_EQ(shares.at("host-bound idle"), 0.1);     // (0.2 + 0.2) / 2 / 2
}

TEST(TimeShares, NoShareOfNothing) {
  const auto shares = shares_of({1, 0.7}, {1, 0.7});
  EXPECT_EQ(shares.count("host-bound idle"), 0U);
  EXPECT_DOUBLE_EQ(shares.at("done before others"), 0.075);
}

/// Kernels that the host launches just in time are busy for most of a step that they do not pace.
TEST(Bottleneck, IsTheHostThatMostOfTheCriticalPathIsOf) {
  SimulationResult result = result_of({0.6, 0.6}, {1, 1});
  EXPECT_EQ(bottleneck(two_steps(), result),
            "compute-bound: kernels keep the GPU busy for 60 % of the step; next, host-bound idle with 40 %");
  result.critical_path = {{"host: aten::linear", 0.4, 9, {}, PathPart::HostWork, {}, 0, "aten::linear"},
                          {"gemm", 0.1, 3, {}, PathPart::Kernel, {}}};
  EXPECT_EQ(bottleneck(two_steps(), result),
            "host-bound: 80 % of the critical path is work of the CPU; compute takes 60 % of the step");
}

CriticalShare piece(const std::string& what, double seconds, PathPart part, double over_pcie = 0) {
  return {what, seconds, 1, {}, part, {}, over_pcie};
}

/// Kernels run beside the copies that the step waits for.
TEST(Bottleneck, IsCopiesThatMostOfTheCriticalPathIsOf) {
  SimulationResult result = result_of({0.8, 0.8}, {1, 1});
  result.critical_path = {piece("Memcpy HtoD", 0.6, PathPart::Copy, 0.6),
                          piece("gemm", 0.4, PathPart::Kernel)};
  EXPECT_EQ(
      bottleneck(two_steps(), result),
      "copy-bound: 60 % of the critical path is copies between host and GPU; compute takes 80 % of the step");
  result.critical_path.front().over_pcie = 0.4;  // the rest by other kernels of that name
  EXPECT_THAT(bottleneck(two_steps(), result), ::testing::StartsWith("compute-bound"));
}

/// Kernels that read host memory look busy. Those of the same name whose rows are on the GPU do not count.
TEST(Bottleneck, IsTheWayToHostMemoryThatKernelsWaitFor) {
  SimulationResult result = result_of({0.9, 0.9}, {1, 1});
  result.critical_path = {piece("look-up", 0.8, PathPart::Kernel, 0.52),
                          piece("gemm", 0.2, PathPart::Kernel)};
  EXPECT_EQ(
      bottleneck(two_steps(), result),
      "copy-bound: 52 % of the critical path is kernels that read and write tables in host memory; compute "
      "takes 90 % of the step");
}

/// With what is copied, collectives that PCIe bounds are more than half; no word of them where they are
/// exposed anyway.
TEST(Bottleneck, IsPcieWithItsCollectives) {
  SimulationResult result = result_of({0.6, 0.6}, {1, 1});
  result.critical_path = {piece("look-up", 0.2, PathPart::Kernel, 0.2),
                          piece("all_to_all", 0.4, PathPart::Collective, 0.4),
                          piece("gemm", 0.4, PathPart::Kernel)};
  EXPECT_EQ(
      bottleneck(two_steps(), result),
      "PCIe-bound: 60 % of the critical path is what crosses PCIe, 40 % collectives; compute takes 60 % of "
      "the step");
  result.metered[0].activity.compute = result.metered[1].activity.compute = 0.2;
  for (MeteredRank& rank : result.metered) {
    rank.activity.exposed_transfer[static_cast<std::size_t>(CollectiveKind::AllToAll)] = 0.7;
  }
  EXPECT_THAT(bottleneck(two_steps(), result), ::testing::StartsWith("communication-bound"));
}

/// An optimizer on the CPU launches nothing: CUDA graphs would not help.
TEST(Bottleneck, NamesAdamOnTheCpu) {
  SimulationResult result = result_of({0.3, 0.3}, {1, 1});
  result.critical_path = {{"host: cpu_adam", 0.44, 9, {}, PathPart::HostWork, {}, 0, "cpu_adam"},
                          {"host: aten::linear", 0.03, 9, {}, PathPart::HostWork, {}, 0, "aten::linear"},
                          {"gemm", 0.53, 3, {}, PathPart::Kernel, {}}};
  EXPECT_EQ(
      bottleneck(two_steps(), result),
      "host-bound: Adam on the CPU is 44 % of the critical path; host-bound idle takes 70 % of the step");
}

}  // namespace
}  // namespace lockstep
