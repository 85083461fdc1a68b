#include "scenario/sensitivity.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>

namespace lockstep {
namespace {

using ::testing::ElementsAre;

ResolvedScenario resolved_from(const std::string& cluster, const std::string& more = {}) {
  return build(
      YamlDocument::from_text("name: x\ncluster: " + cluster +
                                  "\nworkload: {model: dlrm_default, global_batch: 4096}\nsteps: 2\n" + more,
                              "scenario.yaml"),
      ConfigPath::standard());
}

std::vector<std::string> resources(const std::vector<ImprovedStep>& steps) {
  std::vector<std::string> names;
  for (const ImprovedStep& step : steps) {
    names.push_back(step.resource);
  }
  return names;
}

TEST(Sensitivity, AsksForTheLinksThatThereAre) {
  ResolvedScenario workstation = resolved_from("workstation_4gpu_pcie x 1");
  EXPECT_THAT(resources(improved_steps(workstation, 2)),
              ElementsAre("compute peak", "memory bandwidth", "PCIe bandwidth", "host memory bandwidth",
                          "host and launch overhead (10 % less)"));
  ResolvedScenario two_nodes =
      resolved_from("{nodes: [dgx_a100 x 2], network: {shape: leaf_spine, nodes_per_leaf: 1}}",
                    "parallelism: {ranks: 8}\n");
  EXPECT_THAT(resources(improved_steps(two_nodes, 2)),
              ElementsAre("compute peak", "memory bandwidth", "NVLink bandwidth", "PCIe bandwidth",
                          "socket link bandwidth", "NIC bandwidth", "uplink bandwidth",
                          "host and launch overhead (10 % less)"));
}

// Nothing that takes part of the step, made 1.1 times as fast, saves more than 1 - 1/1.1 of it, and 0.9 of
// the host's time no more than 0.1. What a resource does not take part in buys nothing, to the last bit: one
// GPU uses no NVLink.
TEST(Sensitivity, StaysBelowAmdahlsLimit) {
  ResolvedScenario resolved = resolved_from("dgx1v x 1", "parallelism: {ranks: 1}\n");
  const auto improved = improved_steps(resolved, 2);
  const Seconds step =
      predict(resolved, nullptr).mean_step();  // the children have changed theirs, not this one
  double sum = 0;
  for (const ResourceGain& gain : gains_over(step, improved)) {
    EXPECT_GE(gain.gain, 0) << gain.resource;
    EXPECT_LE(gain.gain, gain.resource.starts_with("host") ? 0.1 : 1 - 1 / 1.1) << gain.resource;
    EXPECT_TRUE(gain.resource != "NVLink bandwidth" || gain.gain == 0) << gain.gain;
    sum += gain.gain;
  }
  EXPECT_GT(sum, 0.03);
}

// An optimizer on the host is as fast as the host's memory, not as its overheads.
TEST(Sensitivity, AnOptimizerOnTheHostIsMemoryBound) {
  ResolvedScenario resolved = build(
      YamlDocument::from_text("name: x\ncluster: dgx2 x 1\nworkload: {model: gpt3_1b3, global_batch: 8, "
                              "precision: fp16}\nparallelism: {ranks: 1, sharding: zero2, offload: "
                              "optimizer, fp32_gradients: false, recompute: full}\nsteps: 2\n",
                              "scenario.yaml"),
      ConfigPath::standard());
  const auto improved = improved_steps(resolved, 2);
  for (const ResourceGain& gain : gains_over(predict(resolved, nullptr).mean_step(), improved)) {
    if (gain.resource == "host memory bandwidth") {
      EXPECT_GT(gain.gain, 0.01);
    } else if (gain.resource.starts_with("host and launch")) {
      EXPECT_LT(gain.gain, 0.02);
    }
  }
}

TEST(Sensitivity, IsSortedByGain) {
  const Sensitivity gains = gains_over(Seconds{2}, {{"a", 1.9, ""}, {"b", 1.8, ""}, {"c", 2.0, ""}});
  EXPECT_EQ(gains[0].resource, "b");
  EXPECT_NEAR(gains[0].gain, 0.1, 1e-12);
  EXPECT_EQ(gains[2].resource, "c");
  EXPECT_EQ(gains[2].gain, 0);
}

TEST(Sensitivity, TellsWhichSimulationFailed) {
  EXPECT_THROW((void)gains_over(Seconds{2}, {{"a", 0, "exit code 1: no"}}), std::runtime_error);
}

}  // namespace
}  // namespace lockstep
