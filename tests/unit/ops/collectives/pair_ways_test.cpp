#include "ops/collectives/pair_ways.hpp"

#include <gmock/gmock.h>

#include <set>

#include "ops/collectives/node_exits.hpp"
#include "tests/support/drawn_cluster.hpp"
#include "topology/peer_access.hpp"

namespace lockstep {
namespace {

/// Clusters whose nodes are copies: with direct NVLinks side by side, with host memory on the way, with
/// several NICs, behind one switch, and behind several that a hash chooses from.
const std::vector<std::string> kClusters{
    "dgx1v x 3",
    "dgx_h100 x 3",
    "a100_pcie_pairs x 3",
    "polaris x 3",
    "gh200_4gpu x 3",
    "{ nodes: [dgx_a100 x 4], network: { nodes_per_leaf: 1, spines: 3 } }",
    "{ nodes: [dgx1v x 2, dgx_a100 x 2], network: { shape: leaf_spine, nodes_per_leaf: 2 } }",
};

Fabric drawn(const std::string& cluster) {
  return with_peer_access(testing::drawn_cluster(cluster), {});
}

void expect_same(const PairWay& way, const PairWay& fresh) {
  ASSERT_EQ(way.kind, fresh.kind);
  ASSERT_EQ(way.latency, fresh.latency);
  ASSERT_EQ(way.loads, fresh.loads);
  ASSERT_EQ(way.is_hashed, fresh.is_hashed);
}

class Clusters : public ::testing::TestWithParam<std::string> {};

/// The first pair of two classes is routed, all others are its images.
TEST_P(Clusters, HaveTheWaysThatRoutingEachPairGives) {
  const Fabric fabric = drawn(GetParam());
  const NvLinks nvlinks{fabric};
  PairWays shared{fabric, nvlinks};
  for (const VertexId from : fabric.gpus()) {
    for (const VertexId to : fabric.gpus()) {
      for (std::uint64_t flow = 0; flow < 2 && from != to; ++flow) {
        PairWays fresh{fabric, nvlinks};
        ASSERT_NO_FATAL_FAILURE(expect_same(shared.between(from, to, flow), fresh.between(from, to, flow)))
            << fabric.vertices()[from].name << " to " << fabric.vertices()[to].name;
      }
    }
  }
}

TEST_P(Clusters, HaveTheExitsThatRoutingEachGpuGives) {
  const Fabric fabric = drawn(GetParam());
  NodeExits shared{fabric};
  std::set<VertexId> nics;
  for (const VertexId from : fabric.gpus()) {
    for (const VertexId to : fabric.gpus()) {
      if (fabric.vertices()[from].node == fabric.vertices()[to].node) {
        continue;
      }
      const auto nic = shared.nic_towards(from, to);
      ASSERT_EQ(nic, NodeExits{fabric}.nic_towards(from, to));
      ASSERT_TRUE(nic);
      nics.insert(*nic);
      const NodeExits::Way way = shared.way_to(from, *nic);
      EXPECT_EQ(way.latency, fabric.route(from, *nic).latency);
      EXPECT_EQ(way.crosses_cpu, NodeExits{fabric}.way_to(from, *nic).crosses_cpu);
    }
  }
  EXPECT_GE(nics.size(), 3U);
}

INSTANTIATE_TEST_SUITE_P(PairWays, Clusters, ::testing::ValuesIn(kClusters));

}  // namespace
}  // namespace lockstep
