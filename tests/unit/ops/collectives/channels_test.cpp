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

constexpr double kMiB = 1024.0 * 1024;

/// Channels by the rates of sendrecv_perf on 8 and 4 H100 of a node (docs/collectives.md): as many as leave
/// one for every member, twice as many where more than 16 MiB were left to each.
TEST(MessageChannels, AreFewerTheMoreMembersThereAre) {
  const auto channels = [](int members, double mib) {
    return message_channels({members, false}, Bytes{mib * kMiB}, 32);
  };
  EXPECT_EQ(channels(8, 1), 4);
  EXPECT_EQ(channels(8, 64), 4);
  EXPECT_EQ(channels(8, 128), 8);
  EXPECT_EQ(channels(8, 256), 16);
  EXPECT_EQ(channels(8, 512), 32);
  EXPECT_EQ(channels(8, 4096), 32);
  EXPECT_EQ(channels(4, 32), 8);
  EXPECT_EQ(channels(4, 128), 8);
  EXPECT_EQ(channels(2, 32), 16);
  EXPECT_EQ(channels(64, 1), 1);
}

/// The fewest channels to any peer, two to those over the network, are those to all.
TEST(MessageChannels, AreTwoWhereTheCommunicatorSpansNodes) {
  EXPECT_EQ(message_channels({16, true}, Bytes{64 * kMiB}, 32), 2);
  const Fabric nodes = rail_fabric(2);
  EXPECT_EQ(carrier_of(nodes, nodes.gpus()), (MessageCarrier{16, true}));
  EXPECT_EQ(carrier_of(nodes, nodes.gpus().first(8)), (MessageCarrier{8, false}));
}

}  // namespace
}  // namespace lockstep
