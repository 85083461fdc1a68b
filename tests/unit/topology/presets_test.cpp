#include <gtest/gtest.h>

#include <map>

#include "base/yaml_reader.hpp"
#include "tests/unit/topology/machines.hpp"
#include "topology/cluster_spec.hpp"

namespace lockstep {
namespace {

using namespace lockstep::testing;

struct Machine {
  Named<ClusterSpec> cluster;

  template <class Visitor>
  static void describe(Visitor& key, Machine& machine) {
    key.required("cluster", machine.cluster, "the machine");
  }
};

Fabric machine(const std::string& cluster) {
  return read_text<Machine>("cluster: " + cluster, "test.yaml").cluster->fabric();
}

double gigabytes(const Fabric& fabric, std::string_view from, std::string_view to) {
  return bottleneck(fabric, fabric.route(find(fabric, from), find(fabric, to))) / 1_GBps;
}

TEST(Presets, EveryNodeAndClusterCanBeBuilt) {
  const ConfigPath configs = ConfigPath::standard();
  for (const std::string& name : configs.names("nodes")) {
    EXPECT_NO_THROW(machine(name + " x 1")) << name;
  }
  for (const std::string& name : configs.names("clusters")) {
    EXPECT_NO_THROW(machine(name)) << name;
  }
  EXPECT_GE(configs.names("nodes").size(), 13U);
}

TEST(Presets, HaveGpusThatAreDescribed) {
  const ConfigPath configs = ConfigPath::standard();
  for (const std::string& name : configs.names("nodes")) {
    const Fabric fabric = machine(name + " x 1");
    for (const VertexId id : fabric.gpus()) {
      EXPECT_NO_THROW(static_cast<void>(configs.find("gpus", fabric.vertices()[id].model))) << name;
    }
  }
}

// nvidia-smi topo -m of a DGX-1V: NVLinks between pairs; every GPU has six.
TEST(Presets, Dgx1vIsTheHybridCubeMesh) {
  constexpr int kLinks[8][8] = {{0, 1, 1, 2, 2, 0, 0, 0}, {1, 0, 2, 1, 0, 2, 0, 0}, {1, 2, 0, 2, 0, 0, 1, 0},
                                {2, 1, 2, 0, 0, 0, 0, 1}, {2, 0, 0, 0, 0, 1, 1, 2}, {0, 2, 0, 0, 1, 0, 2, 1},
                                {0, 0, 1, 0, 1, 2, 0, 2}, {0, 0, 0, 1, 2, 1, 2, 0}};
  const Fabric fabric = machine("dgx1v x 1");
  std::map<std::pair<VertexId, VertexId>, double> nvlinks;
  for (const Link& link : fabric.links()) {
    if (link.kind == LinkKind::NvLink) {
      nvlinks[{link.from, link.to}] += link.bandwidth / (25.78125_GBps * 0.9412);
    }
  }
  for (int a = 0; a < 8; ++a) {
    int links = 0;
    for (int b = 0; b < 8; ++b) {
      const auto pair =
          std::pair{find(fabric, fmt::format("node0.gpu{}", a)), find(fabric, fmt::format("node0.gpu{}", b))};
      const double found = nvlinks.contains(pair) ? nvlinks.at(pair) : 0;
      EXPECT_NEAR(found, kLinks[a][b], 1e-9) << a << " " << b;
      links += kLinks[a][b];
    }
    EXPECT_EQ(links, 6);
  }
}

TEST(Presets, Dgx1vGoesOverPcieWhereNvLinkIsMissing) {
  const Fabric fabric = machine("dgx1v x 1");
  EXPECT_EQ(path(fabric, "node0.gpu0", "node0.gpu5"),
            "node0.gpu0 node0.plx0 node0.cpu0 node0.cpu1 node0.plx2 node0.gpu5");
  EXPECT_NEAR(gigabytes(fabric, "node0.gpu0", "node0.gpu5"), 13.23, 0.01);  // 15.754 x 0.840
  EXPECT_NEAR(gigabytes(fabric, "node0.gpu0", "node0.gpu3"), 48.53, 0.01);  // 2 x 25.78 x 16/17
}

// Six links a GPU to its board's crossbar, 48 between the boards: eight GPUs of a board can all send at full
// rate to the other, 8 x 6 = 48.
TEST(Presets, Dgx2HasFullBisection) {
  const Fabric fabric = machine("dgx2 x 1");
  EXPECT_EQ(fabric.gpus().size(), 16U);
  EXPECT_EQ(path(fabric, "node0.gpu0", "node0.gpu15"),
            "node0.gpu0 node0.nvswitch0 node0.nvswitch1 node0.gpu15");
  EXPECT_NEAR(gigabytes(fabric, "node0.gpu0", "node0.gpu15"), 6 * 25.78125 * 0.9412, 0.01);
  const Route across = fabric.route(find(fabric, "node0.nvswitch0"), find(fabric, "node0.nvswitch1"));
  EXPECT_NEAR(bottleneck(fabric, across) / 1_GBps, 8 * 6 * 25.78125 * 0.9412, 0.01);
}

TEST(Presets, NvSwitchNodesGiveEachGpuAllItsLinks) {
  EXPECT_NEAR(gigabytes(machine("dgx_a100 x 1"), "node0.gpu0", "node0.gpu7"), 12 * 25 * 0.9412, 0.01);
  EXPECT_NEAR(gigabytes(machine("dgx_h100 x 1"), "node0.gpu0", "node0.gpu7"), 18 * 26.5625 * 0.9412, 0.01);
  EXPECT_NEAR(gigabytes(machine("hgx_a800 x 1"), "node0.gpu0", "node0.gpu7"), 8 * 25 * 0.9412, 0.01);
  EXPECT_NEAR(gigabytes(machine("hgx_h800 x 1"), "node0.gpu0", "node0.gpu7"), 8 * 26.5625 * 0.9412, 0.01);
  EXPECT_EQ(machine("dgx_h200 x 1").vertices()[0].model, "h200_141gb");
}

TEST(Presets, TwoNodesOverOneNicOrEight) {
  const Fabric eight = machine("two_dgx_a100");
  EXPECT_EQ(path(eight, "node0.gpu6", "node1.gpu6"),
            "node0.gpu6 node0.pex3 node0.nic6 leaf6 node1.nic6 node1.pex3 node1.gpu6");
  const Fabric one = machine("two_dgx_a100_one_nic");
  EXPECT_EQ(path(one, "node0.gpu6", "node1.gpu6"),
            "node0.gpu6 node0.pex3 node0.cpu1 node0.cpu0 node0.pex0 node0.nic0 leaf0 node1.nic0 node1.pex0 "
            "node1.cpu0 node1.cpu1 node1.pex3 node1.gpu6");
}

TEST(Presets, PairsWithBridgesTalkOverPcieToOthers) {
  const Fabric fabric = machine("a100_pcie_pairs x 1");
  EXPECT_EQ(path(fabric, "node0.gpu0", "node0.gpu1"), "node0.gpu0 node0.gpu1");
  EXPECT_EQ(path(fabric, "node0.gpu1", "node0.gpu2"), "node0.gpu1 node0.cpu0 node0.cpu1 node0.gpu2");
}

}  // namespace
}  // namespace lockstep
