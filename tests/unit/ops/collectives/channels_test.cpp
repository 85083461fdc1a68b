#include "ops/collectives/channels.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "tests/support/rail_fabric.hpp"
#include "tests/support/small_machines.hpp"

namespace lockstep {
namespace {

using testing::rail_fabric;

constexpr int kUnlimited = std::numeric_limits<int>::max();

TEST(ChannelLimit, OverNvLinkIsNone) {
  const Fabric node = testing::switched_node(8);
  EXPECT_EQ(channel_limit(node, node.gpus()), kUnlimited);
  EXPECT_EQ(channel_limit(node, node.gpus().first(2)), kUnlimited);
  EXPECT_EQ(channel_limit(node, node.gpus().first(1)), kUnlimited);
}

/// Not all pairs of a DGX-1 have an NVLink; its rings do.
TEST(ChannelLimit, OfACubeMeshIsNone) {
  const Fabric node = testing::hybrid_cube_mesh();
  EXPECT_EQ(channel_limit(node, node.gpus()), kUnlimited);
}

TEST(ChannelLimit, BetweenNodesIsTwoForEachNic) {
  for (const int nics : {2, 8}) {
    const Fabric nodes = rail_fabric(2, nics);
    EXPECT_EQ(channel_limit(nodes, nodes.gpus()), 2 * nics) << nics;
    const std::vector<VertexId> one_each{nodes.gpus()[0], nodes.gpus()[8]};
    EXPECT_EQ(channel_limit(nodes, one_each), 2) << nics;
  }
}

TEST(ChannelLimit, BesideNvLinkIsTwo) {
  const Fabric nodes = rail_fabric(2, 8);
  std::vector<Link> links{nodes.links().begin(), nodes.links().end()};
  for (Link& link : links) {
    link.kind = link.kind == LinkKind::NvLink ? LinkKind::Pcie : link.kind;
  }
  const Fabric without{{nodes.vertices().begin(), nodes.vertices().end()}, links};
  EXPECT_EQ(channel_limit(without, without.gpus().first(8)), 2);
}

}  // namespace
}  // namespace lockstep
