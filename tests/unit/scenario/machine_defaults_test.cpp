#include "scenario/machine_defaults.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>
#include <string>

#include "base/config_path.hpp"
#include "base/yaml_reader.hpp"
#include "ops/gpu/gpu_spec.hpp"
#include "ops/host_overhead.hpp"
#include "tests/support/scratch_folder.hpp"

namespace lockstep {
namespace {

std::string host_of(const std::string& gpu) {
  const auto configs = ConfigPath::standard();
  return usual_host(read_file<GpuSpec>(configs.find("gpus", gpu), configs));
}

TEST(UsualHost, IsThatOfTheGpusTime) {
  EXPECT_EQ(host_of("v100_32gb"), "dgx1v_torchrec");
  EXPECT_EQ(host_of("t4_16gb"), "dgx1v_torchrec");
  EXPECT_EQ(host_of("a100_40gb_pcie"), "a100_server");
  EXPECT_EQ(host_of("rtx_3090_24gb"), "a100_server");
  EXPECT_EQ(host_of("h100_80gb_boost"), "h100_server");
  EXPECT_EQ(host_of("h200_141gb"), "h100_server");
  EXPECT_EQ(host_of("rtx_4090_24gb"), "h100_server");
  EXPECT_EQ(host_of("b200_180gb"), "h100_server");
  EXPECT_EQ(host_of("gb200_186gb"), "a100_server");
}

TEST(UsualHost, IsThereForEveryShippedGpu) {
  const auto configs = ConfigPath::standard();
  for (const std::string& gpu : configs.names("gpus")) {
    EXPECT_NO_THROW((void)configs.find(HostOverheads::kConfigKind, host_of(gpu))) << gpu;
  }
}

TEST(UsualHost, WhateverTheGpuIsCalled) {
  const test::ScratchFolder folder;
  folder.write("acme.yaml", "include: gpus/h100_80gb.yaml\nname: acme\n");
  EXPECT_EQ(usual_host(read_file<GpuSpec>(folder / "acme.yaml", ConfigPath::standard())), "h100_server");
}

TEST(UsualHost, IsAskedForWhereTheGpuSaysNone) {
  GpuSpec gpu;
  gpu.name = "acme";
  EXPECT_THAT([&] { (void)usual_host(gpu); }, ::testing::ThrowsMessage<std::invalid_argument>(
                                                  ::testing::HasSubstr("no host belongs to GPU 'acme'")));
}

/// The A100 server's operators, each in 1 / 1.2 of its time.
TEST(UsualHost, OfAnH100IsTheA100ServersAtItsSpeed) {
  const auto configs = ConfigPath::standard();
  const auto a100 =
      read_file<HostOverheads>(configs.find(HostOverheads::kConfigKind, "a100_server"), configs);
  const auto h100 =
      read_file<HostOverheads>(configs.find(HostOverheads::kConfigKind, "h100_server"), configs);
  EXPECT_EQ(h100.operators.size(), a100.operators.size());
  EXPECT_DOUBLE_EQ(
      a100.of("aten::conv2d").before_first_launch / h100.at_speed().of("aten::conv2d").before_first_launch,
      1.2);
  EXPECT_DOUBLE_EQ(a100.between_operators / h100.at_speed().between_operators, 1.2);
  EXPECT_DOUBLE_EQ(a100.between_modules() / h100.at_speed().between_modules(), 1.2);
}

}  // namespace
}  // namespace lockstep
