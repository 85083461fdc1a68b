#include <gtest/gtest.h>

#include "scenario/prediction.hpp"

namespace lockstep {
namespace {

std::string model_of_first_gpu(const std::string& machine) {
  const ResolvedScenario resolved =
      build(YamlDocument::from_text(
                "name: x\n" + machine + "\nworkload: {model: bert_base, global_batch: 8}\n", "scenario.yaml"),
            ConfigPath::standard());
  return resolved.fabric.vertices()[resolved.fabric.gpus().front()].model;
}

TEST(GpuOfAScenario, StandsInTheMachineAsTimelinesNameIt) {
  EXPECT_EQ(model_of_first_gpu("cluster: dgx_a100"), "a100_40gb");
  EXPECT_EQ(model_of_first_gpu("cluster: dgx_a100\ngpu: a100_80gb"), "a100_80gb");
}

}  // namespace
}  // namespace lockstep
