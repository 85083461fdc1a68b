/// @file
/// What an optimizer on the host costs of a step.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "scenario/prediction.hpp"

namespace lockstep {
namespace {

/// Seconds of a step of @p gpus GPUs behind one PCIe switch, whose host has @p gigabytes a second.
double step_on(int gpus, double gigabytes, const std::string& plan) {
  const ResolvedScenario resolved =
      build(YamlDocument::from_text(
                fmt::format("name: x\nsteps: 2\n"
                            "cluster:\n"
                            "  vertices:\n"
                            "    - {{ name: gpu, kind: gpu, count: {}, model: a100_80gb }}\n"
                            "    - {{ name: plx, kind: pcie_switch }}\n"
                            "    - {{ name: cpu, kind: cpu, memory: 1 TiB, memory_bandwidth: {} GB/s }}\n"
                            "  links:\n"
                            "    - {{ connect: gpu*, with: plx, link: pcie4_x16 }}\n"
                            "    - {{ connect: plx, with: cpu, link: pcie4_x16 }}\n"
                            "workload: {{ model: gpt3_1b3, global_batch: {}, precision: bf16 }}\n"
                            "parallelism: {{ sharding: zero2, fp32_gradients: false, {} }}\n",
                            gpus, gigabytes, gpus, plan),
                "scenario.yaml"),
            ConfigPath::standard());
  return predict(resolved, nullptr, EngineMode::Bare).mean_step().in_base_units();
}

constexpr const char* kOffload = "offload: optimizer";
/// Of gpt3_1b3: 24 layers of 12 h^2 + 13 h with h = 2048, table (50304 rows), positions (2048), the last
/// gain.
constexpr double kParameters = 24 * (12 * 2048.0 * 2048 + 13 * 2048) + (50304 + 2048 + 1) * 2048.0;

/// Half the bandwidth takes the CPU twice as long, and nothing hides it but, tile by tile, what comes back.
TEST(HostOptimizerStep, WaitsForTheCpu) {
  const double slow = step_on(1, 50, kOffload), slower = step_on(1, 25, kOffload);
  EXPECT_NEAR(slower - slow, kParameters * 28 / 0.41 * (1 / 25e9 - 1 / 50e9), 1e-3 * slow);
}

/// The CPU takes as long for two halves at half the bandwidth each. What leaves and comes crosses the
/// switch's link once, whether it is shared or not.
TEST(HostOptimizerStep, TakesNoLongerOnTwoGpusOfAHost) {
  const double one = step_on(1, 50, kOffload), two = step_on(2, 50, kOffload);
  const double without_one = step_on(1, 50, "overlap_gradients: true"),
               without_two = step_on(2, 50, "overlap_gradients: true");
  EXPECT_NEAR(two - without_two, one - without_one, 0.05 * one);
}

/// At least the CPU's time and the last tile's way back are added; at most these and the way out of
/// everything.
TEST(HostOptimizerStep, SendsGradientsUnderBackward) {
  const double cpu = kParameters * 28 / (0.41 * 50e9), copy = 2 * kParameters / 20e9;
  const double added = step_on(1, 50, kOffload) - step_on(1, 50, "overlap_gradients: true");
  EXPECT_GT(added, 0.9 * cpu);  // the GPU's own update is saved
  EXPECT_LT(added, cpu + 0.5 * copy);
}

}  // namespace
}  // namespace lockstep
