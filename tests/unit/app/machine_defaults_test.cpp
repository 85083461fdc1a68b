#include "app/machine_defaults.hpp"

#include <gtest/gtest.h>

#include "base/config_path.hpp"
#include "base/yaml_reader.hpp"
#include "ops/host_overhead.hpp"
#include "topology/gpu_spec.hpp"

namespace lockstep {
namespace {

GpuSpec named(const char* name) {
  GpuSpec gpu;
  gpu.name = name;
  return gpu;
}

TEST(UsualHost, IsThatOfTheGpusGeneration) {
  EXPECT_EQ(usual_host(named("v100_32gb")), "dgx1v_torchrec");
  EXPECT_EQ(usual_host(named("a100_40gb_pcie")), "a100_server");
  EXPECT_EQ(usual_host(named("h100_80gb_boost")), "h100_server");
  EXPECT_EQ(usual_host(named("h200_141gb")), "h100_server");
  EXPECT_EQ(usual_host(named("b200_180gb")), "h100_server");
  EXPECT_EQ(usual_host(named("gb200_186gb")), "a100_server");
}

/// The A100 server's operators, each in 1 / 1.6 of its time.
TEST(UsualHost, OfAnH100IsTheA100ServersAtItsSpeed) {
  const auto configs = ConfigPath::standard();
  const auto a100 =
      read_file<HostOverheads>(configs.find(HostOverheads::kConfigKind, "a100_server"), configs);
  const auto h100 =
      read_file<HostOverheads>(configs.find(HostOverheads::kConfigKind, "h100_server"), configs);
  EXPECT_EQ(h100.operators.size(), a100.operators.size());
  EXPECT_DOUBLE_EQ(
      a100.of("aten::conv2d").before_first_launch / h100.at_speed().of("aten::conv2d").before_first_launch,
      1.6);
  EXPECT_DOUBLE_EQ(a100.between_operators / h100.at_speed().between_operators, 1.6);
  EXPECT_DOUBLE_EQ(a100.between_modules() / h100.at_speed().between_modules(), 1.6);
}

}  // namespace
}  // namespace lockstep
