#include "calibration/kernels/gpu_model_names.hpp"

#include <gtest/gtest.h>

#include "base/config_path.hpp"

namespace lockstep {
namespace {

std::string model_in(const std::string& name) {
  static const GpuModelNames models{ConfigPath{{LOCKSTEP_SOURCE_DIR}}.names("gpus")};
  return models.in(name);
}

TEST(GpuModelNames, AreFoundInWhatTheMakerSays) {
  EXPECT_EQ(model_in("Tesla V100-SXM2-32GB"), "v100");
  EXPECT_EQ(model_in("NVIDIA A100-PG509-200"), "a100");
  EXPECT_EQ(model_in("NVIDIA H100 80GB HBM3"), "h100");
  EXPECT_EQ(model_in("NVIDIA H200"), "h200");
  EXPECT_EQ(model_in("Tesla P100-PCIE-16GB"), "p100");
  EXPECT_EQ(model_in("Tesla T4"), "t4");
  EXPECT_EQ(model_in("Tesla P4"), "p4");
  EXPECT_EQ(model_in("NVIDIA L4"), "l4");
  EXPECT_EQ(model_in("NVIDIA GB200"), "gb200");  // not b200
  EXPECT_EQ(model_in("NVIDIA B200"), "b200");
  EXPECT_EQ(model_in("NVIDIA TITAN Xp"), "titan xp");
  EXPECT_EQ(model_in("NVIDIA GeForce RTX 2080 Ti"), "rtx 2080ti");
  EXPECT_EQ(model_in("NVIDIA GeForce RTX 4090"), "rtx 4090");
  EXPECT_EQ(model_in("NVIDIA RTX 6000 Ada Generation"), "rtx 6000 ada");
  EXPECT_EQ(model_in("NVIDIA RTX A6000"), "rtx a6000");
  EXPECT_EQ(model_in("Quadro RTX 8000"), "quadro rtx 8000");
}

// Every variant of a model is of that model.
TEST(GpuModelNames, AreFoundInNamesOfConfigurations) {
  for (const std::string& name : ConfigPath{{LOCKSTEP_SOURCE_DIR}}.names("gpus")) {
    EXPECT_NE(model_in(name), "") << name;
  }
  EXPECT_EQ(model_in("h100_80gb_cublas_13_boost"), model_in("h100_80gb_pcie"));
  EXPECT_EQ(model_in("titan_xp_locked_1404mhz"), "titan xp");
  EXPECT_EQ(model_in("my_h100"), "h100");
}

TEST(GpuModelNames, TellKnownModelsApart) {
  const GpuModelNames models{ConfigPath{{LOCKSTEP_SOURCE_DIR}}.names("gpus")};
  EXPECT_TRUE(models.tell_apart("NVIDIA A100-SXM4-80GB", "h100_80gb"));
  EXPECT_FALSE(models.tell_apart("NVIDIA H100 80GB HBM3", "h100_80gb_boost"));
  EXPECT_FALSE(models.tell_apart("NVIDIA H100 80GB HBM3", "acme"));
  EXPECT_FALSE(models.tell_apart("NVIDIA L40S", "h100_80gb"));
}

TEST(GpuModelNames, AreNotFoundInOthers) {
  EXPECT_EQ(model_in("NVIDIA L40S"), "");
  EXPECT_EQ(model_in("NVIDIA A10G"), "");
  EXPECT_EQ(model_in("my_board"), "");
  EXPECT_EQ(model_in(""), "");
}

}  // namespace
}  // namespace lockstep
