/// @file
/// All-reduces that NVSwitches add: in a node, and of several nodes with trees between them.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <span>
#include <tuple>

#include "tests/support/planned_collectives.hpp"

namespace lockstep {
namespace {

using testing::all_gpus;
using ::testing::HasSubstr;
using namespace lockstep::literals;

TEST(SwitchedAllReduce, SwitchesOfNodesAddAndTreesJoinThem) {
  // k nodes of 4: 1 + 1/4 of the buffer on each NVLink; a NIC sends for its place's quarter of the buffer in
  // two trees of half of it: to the parent and to each child. Each node of two is a root and a leaf: 1/4. Of
  // four the busiest is an inner one: two halves up and down in one tree, half up in the other: 2/4 at most.
  CollectiveOptions options;
  options.profile.nvls_tree.simple = ProtocolCosts{.base = {}, .nvlink = 50_us, .pcie = {}, .network = 14_us};
  options.algorithm[CollectiveKind::AllReduce] = CommAlgorithm::NvlsTree;
  for (const auto& [nodes, most, levels] : {std::tuple{2, 0.25, 1}, std::tuple{4, 0.5, 2}}) {
    const Fabric fabric = testing::rail_cluster(nodes, 4);
    const CollectivePlan plan = plan_all(fabric, {.kind = CollectiveKind::AllReduce, .size = 1_GB}, options);
    double busiest = 0;
    for (int node = 0; node < nodes; ++node) {
      EXPECT_NEAR(
          load_of(plan, fabric, fmt::format("node{}.gpu2", node), fmt::format("node{}.nvswitch0", node)),
          1.25, 1e-12);
      for (int rail = 0; rail < 4; ++rail) {
        busiest = std::max(busiest, load_of(plan, fabric, fmt::format("node{}.nic{}", node, rail),
                                            fmt::format("leaf{}", rail)));
      }
    }
    EXPECT_NEAR(busiest, most, 1e-12);
    EXPECT_NEAR(plan.latency / (2.0 * 50_us + 2.0 * levels * 14_us), 1, 1e-12);
    EXPECT_EQ(load_of(plan, fabric, "leaf0", "spine0"), 0);
  }
}

TEST(SwitchedAllReduce, SwitchesOfNodesAreChosenWhereTheyAreFaster) {
  // Nodes of 4, and NICs are the narrow part. Of two nodes each NIC sends 1/4 of the buffer, of a ring 2
  // (7/8) / 4; of four nodes 2/4 instead of 2 (15/16) / 4.
  CollectiveOptions options;
  options.profile.nvls_tree.simple = ProtocolCosts{};
  const CollectiveRequest request{.kind = CollectiveKind::AllReduce, .size = 1_GB};
  const Fabric two = testing::rail_cluster(2, 4), four = testing::rail_cluster(4, 4);
  EXPECT_EQ(plan_all(two, request, options).algorithm, "nvls_tree");
  EXPECT_EQ(plan_all(four, request, options).algorithm, "ring");
  EXPECT_NE(plan_all(two, request).algorithm, "nvls_tree");  // the ideal profile has none
  options.algorithm[CollectiveKind::AllReduce] = CommAlgorithm::NvlsTree;
  const auto gpus = all_gpus(two);
  const CollectivePlanner planner{two, options};
  EXPECT_THAT([&] { static_cast<void>(planner.plan(request, std::span{gpus}.first(7))); },
              ::testing::ThrowsMessage<std::invalid_argument>(HasSubstr("equally many members")));
}

TEST(SwitchedAllReduce, TheSwitchAddsWhereTheProfileSaysSo) {
  // Out of and into each of n members: 1 + 1/n of the buffer. At 8 members and 300 GB/s the ring's bus
  // bandwidth is 300, the switch's 300 * 1.75 / 1.125.
  const Fabric fabric = testing::switched_node(8);
  CollectiveOptions options;
  options.profile.nvls.simple = ProtocolCosts{};
  const CollectivePlan plan = plan_all(fabric, {.kind = CollectiveKind::AllReduce, .size = 1_GB}, options);
  EXPECT_EQ(plan.algorithm, "nvls");
  EXPECT_NEAR(load_of(plan, fabric, "node0.gpu3", "node0.nvswitch0"), 1.125, 1e-12);
  EXPECT_NEAR(load_of(plan, fabric, "node0.nvswitch0", "node0.gpu3"), 1.125, 1e-12);
  EXPECT_EQ(plan_all(fabric, {.kind = CollectiveKind::AllReduce, .size = 1_GB}).algorithm, "ring");
  const Fabric mesh = testing::hybrid_cube_mesh();
  EXPECT_EQ(plan_all(mesh, {.kind = CollectiveKind::AllReduce, .size = 1_GB}, options).algorithm, "ring");
}

}  // namespace
}  // namespace lockstep
