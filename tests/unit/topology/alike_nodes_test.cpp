#include "topology/alike_nodes.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/support/drawn_cluster.hpp"
#include "topology/peer_access.hpp"

namespace lockstep {
namespace {

/// Gives the sockets of each node of @p fabric another memory, so that no node is another one's copy.
Fabric with_nodes_unlike(const Fabric& fabric) {
  std::vector<Vertex> vertices{fabric.vertices().begin(), fabric.vertices().end()};
  for (Vertex& vertex : vertices) {
    if (vertex.kind == VertexKind::CpuSocket) {
      vertex.memory = Bytes{1e9 + vertex.node};
    }
  }
  return {std::move(vertices), {fabric.links().begin(), fabric.links().end()}};
}

std::uint32_t node_of(const Fabric& fabric, std::size_t gpu) {
  return fabric.alike_nodes().place_of_device(fabric.gpus()[gpu]).node;
}

TEST(AlikeNodes, AreCopiesWithTheSameLinksToTheSameSwitches) {
  const Fabric fabric = testing::drawn_cluster("{ nodes: [dgx_a100 x 2, dgx1v], network: { spines: 0 } }");
  const AlikeNodes& nodes = fabric.alike_nodes();
  EXPECT_TRUE(nodes.has_copies(fabric.gpus()[0]));
  EXPECT_TRUE(nodes.has_copies(fabric.gpus()[8]));
  EXPECT_FALSE(nodes.has_copies(fabric.gpus()[16]));
  const auto gpus = fabric.gpus();
  EXPECT_EQ(nodes.class_of(gpus[3]), nodes.class_of(gpus[11]));
  EXPECT_NE(nodes.class_of(gpus[3]), nodes.class_of(gpus[12]));
  EXPECT_NE(nodes.class_of(gpus[3]), nodes.class_of(gpus[19]));
  EXPECT_EQ(nodes.device_at(node_of(fabric, 11), nodes.place_of_device(gpus[3]).number), gpus[11]);
}

TEST(AlikeNodes, BelowOtherLeavesAreUnlike) {
  const Fabric fabric =
      testing::drawn_cluster("{ nodes: [dgx_a100 x 4], network: { shape: leaf_spine, nodes_per_leaf: 2 } }");
  const AlikeNodes& nodes = fabric.alike_nodes();
  EXPECT_EQ(nodes.class_of(fabric.gpus()[0]), nodes.class_of(fabric.gpus()[8]));
  EXPECT_NE(nodes.class_of(fabric.gpus()[0]), nodes.class_of(fabric.gpus()[16]));
}

TEST(AlikeNodes, HaveThePeersThatEachWouldHaveAlone) {
  for (const char* cluster : {"dgx1v x 3", "a100_pcie_pairs x 3", "polaris x 3"}) {
    const Fabric copies = testing::drawn_cluster(cluster);
    const Fabric unlike = with_nodes_unlike(copies);
    ASSERT_FALSE(unlike.alike_nodes().has_copies(unlike.gpus()[0]));
    for (const std::size_t used : {0U, 2U, 6U, 10U, 20U}) {
      PeerAccess access{{}, {}, used};
      access.gpus.resize(copies.gpus().size());
      access.gpus[1] = {false, NicAccess::ReadsWithNvLink};  // of the first node alone
      const Fabric here = with_peer_access(copies, access);
      const Fabric there = with_peer_access(unlike, access);
      ASSERT_EQ(here.vertices().size(), there.vertices().size()) << cluster << ", " << used << " GPUs";
      for (VertexId id = 0; id < here.vertices().size(); ++id) {
        ASSERT_EQ(here.vertices()[id].name, there.vertices()[id].name);
        ASSERT_EQ(here.vertices()[id].p2p_level, there.vertices()[id].p2p_level);
        ASSERT_EQ(here.vertices()[id].nic_read_level, there.vertices()[id].nic_read_level);
        ASSERT_EQ(here.vertices()[id].nic_write_level, there.vertices()[id].nic_write_level);
      }
    }
  }
}

}  // namespace
}  // namespace lockstep
