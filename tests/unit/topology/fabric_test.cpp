#include "topology/fabric.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <set>
#include <stdexcept>

#include "tests/unit/topology/machines.hpp"
#include "topology/host_memory.hpp"

namespace lockstep {
namespace {

using namespace lockstep::testing;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

TEST(Fabric, ListsGpusByNodeThenIndex) {
  Drawing drawing;
  const auto hub = drawing.add(device(VertexKind::LeafSwitch, -1, 0));
  for (const auto& vertex : {gpu(1, 0), gpu(0, 1), gpu(0, 0)}) {
    drawing.connect(drawing.add(vertex), hub, kNetwork);
  }
  EXPECT_THAT(build(drawing).gpus(), ElementsAre(3, 2, 1));
}

TEST(Fabric, NamesLinksAfterTheirEndsAndNumbersParallelOnes) {
  Drawing drawing;
  const auto a = drawing.add(gpu(0, 0));
  const auto b = drawing.add(gpu(0, 1));
  drawing.connect(a, b, kNvLink);
  drawing.connect(a, b, kNvLink);
  const Fabric fabric = build(drawing);
  EXPECT_EQ(fabric.name_of(0), "node0.gpu0->node0.gpu1");
  EXPECT_EQ(fabric.name_of(1), "node0.gpu1->node0.gpu0");
  EXPECT_EQ(fabric.name_of(2), "node0.gpu0->node0.gpu1#2");
}

TEST(Routing, AVertexToItselfCrossesNothing) {
  const Fabric fabric = build(rail_cluster(2, 1));
  const Route route = fabric.route(find(fabric, "node0.gpu0"), find(fabric, "node0.gpu0"));
  EXPECT_TRUE(route.links.empty());
  EXPECT_EQ(route.latency, 0_s);
  EXPECT_TRUE(std::isinf(bottleneck(fabric, route).in_base_units()));
}

TEST(Routing, WithinANodeTakesTheNvSwitch) {
  const Fabric fabric = build(rail_cluster(2, 1));
  const Route route = fabric.route(find(fabric, "node0.gpu0"), find(fabric, "node0.gpu7"));
  EXPECT_EQ(path(fabric, "node0.gpu0", "node0.gpu7"), "node0.gpu0 node0.nvswitch0 node0.gpu7");
  EXPECT_DOUBLE_EQ(route.latency / 1_ns, 600);  // 2 x 300 ns
  EXPECT_EQ(bottleneck(fabric, route), 50_GBps);
}

// Ring of four, NVLink 0-1-2-3-0: gpu0 and gpu2 have no direct link, and gpu1 and gpu3 pass nothing on.
TEST(Routing, GpusDoNotForwardNvLinkTrafficOfOthers) {
  Drawing drawing;
  add_node(drawing, 0, {.gpus = 4, .nics = 0, .pcie_switches = 2, .nvswitch = false});
  Fabric pcie_only = build(drawing);
  std::vector<VertexId> ring;
  for (int i = 0; i < 4; ++i) {
    ring.push_back(find(pcie_only, fmt::format("node0.gpu{}", i)));
  }
  for (std::size_t i = 0; i < 4; ++i) {
    drawing.connect(ring[i], ring[(i + 1) % 4], kNvLink);
  }
  const Fabric fabric = build(drawing);
  EXPECT_EQ(path(fabric, "node0.gpu0", "node0.gpu1"), "node0.gpu0 node0.gpu1");
  EXPECT_EQ(path(fabric, "node0.gpu0", "node0.gpu2"),
            "node0.gpu0 node0.pcie_switch0 node0.cpu0 node0.cpu1 node0.pcie_switch1 node0.gpu2");

  for (const auto id : ring) {
    drawing.vertices[id].forwards = true;  // 2 x 300 ns beats 4 x 400 + 500 ns
  }
  const Fabric forwarding = build(drawing);
  EXPECT_EQ(forwarding.route(ring[0], ring[2]).links.size(), 2U);
}

// GPUs i and i + 1 share PCIe switch i / 2 with NICs i and i + 1: both NICs are equally near, the rail
// decides.
TEST(Routing, BetweenNodesKeepsTheRail) {
  const Fabric fabric = build(rail_cluster(2, 4));
  EXPECT_EQ(path(fabric, "node0.gpu3", "node1.gpu3"),
            "node0.gpu3 node0.pcie_switch1 node0.nic3 leaf3 node1.nic3 node1.pcie_switch1 node1.gpu3");
}

// gpu2 of node 1 sits equally near to NICs 2 and 3, and listens at NIC 2, whichever rail a message comes by.
TEST(Routing, EntersThroughTheNicOfTheReceiver) {
  const Fabric fabric = build(rail_cluster(2, 1));
  EXPECT_EQ(path(fabric, "node0.gpu3", "node1.gpu2"),
            "node0.gpu3 node0.pcie_switch1 node0.nic3 leaf3 spine0 leaf2 node1.nic2 node1.pcie_switch1 "
            "node1.gpu2");
}

TEST(Routing, EcmpSpreadsFlowsOverAllSpinesAndRepeatsItself) {
  const Fabric fabric = build(rail_cluster(2, 4));
  const auto from = find(fabric, "node0.gpu0");
  const auto to = find(fabric, "node1.gpu7");  // another rail: over a spine
  std::map<VertexId, int> flows_by_spine;
  constexpr int kFlows = 4000;
  for (std::uint64_t flow = 0; flow < kFlows; ++flow) {
    const Route route = fabric.route(from, to, flow);
    EXPECT_EQ(route.links, fabric.route(from, to, flow).links);
    ASSERT_EQ(route.links.size(), 8U);  // gpu pcie nic leaf spine leaf nic pcie gpu
    ++flows_by_spine[fabric.links()[route.links[3]].to];
  }
  ASSERT_EQ(flows_by_spine.size(), 4U);
  for (const auto& [spine, flows] : flows_by_spine) {
    EXPECT_NEAR(flows, kFlows / 4, 6 * std::sqrt(kFlows * 0.25 * 0.75));  // binomial, six sigma
  }
}

TEST(Routing, ParallelLinksShareFlows) {
  Drawing drawing;
  const auto a = drawing.add(gpu(0, 0));
  const auto b = drawing.add(gpu(0, 1));
  drawing.connect(a, b, kNvLink);
  drawing.connect(a, b, kNvLink);
  const Fabric fabric = build(drawing);
  std::set<LinkId> used;
  for (std::uint64_t flow = 0; flow < 64; ++flow) {
    used.insert(fabric.route(a, b, flow).links.at(0));
  }
  EXPECT_THAT(used, ElementsAre(0, 2));
}

TEST(Routing, SeveralGpusShareTheOnlyNic) {
  const Fabric fabric = build(rail_cluster(2, 1, 1024, {.nics = 1}));
  EXPECT_EQ(
      path(fabric, "node0.gpu7", "node1.gpu0"),
      "node0.gpu7 node0.pcie_switch3 node0.cpu1 node0.cpu0 node0.pcie_switch0 node0.nic0 leaf0 node1.nic0 "
      "node1.pcie_switch0 node1.gpu0");
}

// Two nodes cabled NIC to NIC, without a switch: gpu0 must go to the far NIC 1 because only that has a cable.
TEST(Routing, LeavesThroughAFartherNicWhenTheNearestLeadsNowhere) {
  Drawing drawing;
  const NodeShapeOfTests shape{.gpus = 2, .nics = 2, .pcie_switches = 2, .nvswitch = true};
  const auto left = add_node(drawing, 0, shape);
  const auto right = add_node(drawing, 1, shape);
  drawing.connect(left[1], right[1], kNetwork);
  const Fabric fabric = build(drawing);
  EXPECT_EQ(path(fabric, "node0.gpu0", "node1.gpu1"),
            "node0.gpu0 node0.pcie_switch0 node0.cpu0 node0.cpu1 node0.pcie_switch1 node0.nic1 node1.nic1 "
            "node1.pcie_switch1 node1.gpu1");
}

// Three nodes in a row, cabled by NICs: node 1 does not pass on what node 0 sends to node 2.
TEST(Routing, NodesDoNotForwardForOtherNodes) {
  Drawing drawing;
  const NodeShapeOfTests shape{.gpus = 2, .nics = 2, .pcie_switches = 1, .nvswitch = true};
  std::vector<std::vector<VertexId>> nics;
  for (int node = 0; node < 3; ++node) {
    nics.push_back(add_node(drawing, node, shape));
  }
  drawing.connect(nics[0][1], nics[1][0], kNetwork);
  drawing.connect(nics[1][1], nics[2][0], kNetwork);
  EXPECT_THAT([&] { build(drawing); }, ThrowsMessage<std::invalid_argument>(
                                           HasSubstr("no route from GPU 'node2.gpu0' to GPU 'node0.gpu0'")));
}

// A rack whose NVSwitch belongs to no node (NVL72): trays are nodes, NVLink crosses them, the network is not
// used.
TEST(Routing, NvLinkMayCrossNodes) {
  Drawing drawing = rail_cluster(2, 1, 1024, {.gpus = 2, .nics = 2, .pcie_switches = 2, .nvswitch = false});
  const auto crossbar = drawing.add(device(VertexKind::NvSwitch, -1, 0));
  for (VertexId id = 0; id < drawing.vertices.size(); ++id) {
    if (drawing.vertices[id].kind == VertexKind::Gpu) {
      drawing.connect(id, crossbar, kNvLink);
    }
  }
  const Fabric fabric = build(drawing);
  EXPECT_EQ(path(fabric, "node0.gpu0", "node1.gpu1"), "node0.gpu0 nvswitch0 node1.gpu1");
  EXPECT_EQ(path(fabric, "node0.gpu0", "node0.gpu1"), "node0.gpu0 nvswitch0 node0.gpu1");
  EXPECT_EQ(path(fabric, "node0.cpu0", "node1.gpu0"),
            "node0.cpu0 node0.pcie_switch0 node0.nic0 leaf0 node1.nic0 node1.pcie_switch0 node1.gpu0");
}

TEST(Routing, DrawingsWithoutNodesAreRoutedAsOne) {
  Drawing drawing;  // a ring of five forwarding GPUs: the short way round
  std::vector<VertexId> ring;
  for (int i = 0; i < 5; ++i) {
    ring.push_back(drawing.add(gpu(-1, i, true)));
  }
  for (std::size_t i = 0; i < 5; ++i) {
    drawing.connect(ring[i], ring[(i + 1) % 5], kNvLink);
  }
  const Fabric fabric = build(drawing);
  EXPECT_EQ(path(fabric, "gpu0", "gpu2"), "gpu0 gpu1 gpu2");
  EXPECT_EQ(path(fabric, "gpu0", "gpu3"), "gpu0 gpu4 gpu3");
}

TEST(Routing, EqualLatencyIsDecidedByHops) {
  Drawing drawing;
  const auto a = drawing.add(gpu(0, 0));
  const auto b = drawing.add(gpu(0, 1));
  const auto detour = drawing.add(device(VertexKind::NvSwitch, 0, 0));
  drawing.connect(a, detour, {LinkKind::NvLink, 900_GBps, 100_ns});
  drawing.connect(detour, b, {LinkKind::NvLink, 900_GBps, 200_ns});
  drawing.connect(a, b, {LinkKind::NvLink, 1_GBps, 300_ns});
  EXPECT_EQ(build(drawing).route(a, b).links.size(), 1U);
}

TEST(HostMemory, IsTheNearestSocket) {
  const Fabric fabric = build(rail_cluster(2, 1));
  EXPECT_EQ(fabric.host_memory_of(find(fabric, "node1.gpu3")), find(fabric, "node1.cpu0"));
  EXPECT_EQ(fabric.host_memory_of(find(fabric, "node1.gpu4")), find(fabric, "node1.cpu1"));
  EXPECT_EQ(path(fabric, "node1.cpu1", "node1.gpu4"), "node1.cpu1 node1.pcie_switch2 node1.gpu4");
}

TEST(HostMemory, IsAskedInVainWithoutASocket) {
  Drawing drawing;
  drawing.add(gpu(0, 0));
  drawing.add(gpu(0, 1));
  drawing.connect(0, 1, kNvLink);
  const Fabric fabric = build(drawing);
  EXPECT_THAT([&] { static_cast<void>(fabric.host_memory_of(0)); },
              ThrowsMessage<std::invalid_argument>(HasSubstr("'node0.gpu0' has no host memory")));
}

/// Node 0 has two sockets, of which one does not say its bandwidth; node 1 has none.
TEST(HostMemory, OfANodeIsThatOfItsSockets) {
  Drawing drawing;
  Vertex socket = device(VertexKind::CpuSocket, 0, 0);
  socket.memory = Bytes{256e9};
  socket.memory_bandwidth = 100_GBps;
  drawing.add(gpu(0, 0));
  drawing.connect(0, drawing.add(socket), kNvLink);
  EXPECT_EQ(host_memory_of_node(build(drawing), 0).size, Bytes{256e9});
  EXPECT_EQ(host_memory_of_node(build(drawing), 0).bandwidth, 100_GBps);
  Vertex silent = device(VertexKind::CpuSocket, 0, 1);
  silent.memory = Bytes{256e9};
  drawing.connect(0, drawing.add(silent), kNvLink);
  EXPECT_EQ(host_memory_of_node(build(drawing), 0).size, Bytes{512e9});
  EXPECT_EQ(host_memory_of_node(build(drawing), 0).bandwidth, BytesPerSecond{0});
  EXPECT_EQ(host_memory_of_node(build(drawing), 1).size, Bytes{0});
}

// 2048 nodes of 8 GPUs; leaves of 32 nodes a rail: 512 leaves, 64 spines.
TEST(Fabric, HoldsSixteenThousandGpus) {
  const Fabric fabric = build(rail_cluster(2048, 64, 32));
  EXPECT_EQ(fabric.gpus().size(), 16384U);
  EXPECT_EQ(path(fabric, "node0.gpu5", "node31.gpu5"),
            "node0.gpu5 node0.pcie_switch2 node0.nic5 leaf5 node31.nic5 node31.pcie_switch2 node31.gpu5");
  // Another group of nodes: leaf 5 of group 0, a spine, leaf 63 * 8 + 5.
  const auto far = fabric.route(fabric.gpus()[5], fabric.gpus()[2047 * 8 + 5]);
  ASSERT_EQ(far.links.size(), 8U);
  EXPECT_EQ(fabric.vertices()[fabric.links()[far.links[4]].to].name, "leaf509");
  EXPECT_DOUBLE_EQ(far.latency / 1_ns, 4 * 400 + 4 * 1000);
}

}  // namespace
}  // namespace lockstep
