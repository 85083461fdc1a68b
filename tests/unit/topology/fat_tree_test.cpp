/// @file
/// Fat trees of three tiers: pods of leaves and spines below core switches.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "base/error.hpp"
#include "tests/support/drawn_cluster.hpp"
#include "tests/unit/topology/machines.hpp"
#include "topology/layout.hpp"
#include "topology/render_dot.hpp"
#include "topology/render_svg.hpp"

namespace lockstep {
namespace {

using ::testing::HasSubstr;

Fabric tree(const std::string& network, const std::string& nodes = "dgx_a100 x 8") {
  return testing::drawn_cluster("{ nodes: [" + nodes + "], network: { shape: fat_tree, " + network + " } }");
}

std::string tree_complaint(const std::string& network) {
  try {
    (void)tree(network);
  } catch (const InputError& error) {
    return error.what();
  }
  return "accepted";
}

/// Switches of a tier, by the names that the network gives them: core0, spine3, leaf1.
std::ptrdiff_t switches(const Fabric& fabric, const std::string& tier) {
  return std::ranges::count_if(fabric.vertices(),
                               [&](const Vertex& vertex) { return vertex.name.starts_with(tier); });
}

BytesPerSecond width(const Fabric& fabric, const std::string& link) {
  const Link* found = testing::find_link(fabric, link);
  return found == nullptr ? BytesPerSecond{0} : found->bandwidth;
}

VertexId called(const Fabric& fabric, const std::string& name) {
  return static_cast<VertexId>(std::ranges::find(fabric.vertices(), name, &Vertex::name) -
                               fabric.vertices().begin());
}

/// Kinds of the switches on the way, from the first leaf to the last.
std::string way(const Fabric& fabric, const std::string& from, const std::string& to) {
  std::string text;
  const Route route = fabric.route(called(fabric, from), called(fabric, to));
  for (const LinkId link : route.links) {
    const Vertex& vertex = fabric.vertices()[fabric.links()[link].to];
    if (vertex.node < 0) {
      text += (text.empty() ? "" : " ") + vertex.name.substr(0, vertex.name.find_first_of("0123456789"));
    }
  }
  return text;
}

/// Eight nodes: two pods of four, two leaves of two nodes and two spines in each, four cores.
TEST(FatTree, HasPodsBelowCores) {
  const Fabric fabric = tree("nodes_per_pod: 4, nodes_per_leaf: 2, spines: 2, cores: 4");
  EXPECT_EQ(switches(fabric, "leaf"), 4);
  EXPECT_EQ(switches(fabric, "spine"), 4);
  EXPECT_EQ(switches(fabric, "core"), 4);
  EXPECT_EQ(way(fabric, "node0.gpu0", "node1.gpu0"), "leaf");
  EXPECT_EQ(way(fabric, "node0.gpu0", "node2.gpu0"), "leaf spine leaf");
  EXPECT_EQ(way(fabric, "node0.gpu0", "node4.gpu0"), "leaf spine core spine leaf");
}

/// 16 NICs below a leaf, over 2 spines, 2:1: 4 NICs' width each. A spine has two leaves below, and half of
/// its 8 NICs' width over two cores, 4:1: one NIC's width each.
TEST(FatTree, IsOversubscribedAtEachTier) {
  const Fabric fabric = tree(
      "nodes_per_pod: 4, nodes_per_leaf: 2, spines: 2, cores: 4, oversubscription: 2, pod_oversubscription: "
      "4");
  const BytesPerSecond nic = width(fabric, "node0.nic0->leaf0");
  ASSERT_GT(nic, BytesPerSecond{0});
  EXPECT_DOUBLE_EQ(width(fabric, "leaf0->spine1") / nic, 4);
  EXPECT_DOUBLE_EQ(width(fabric, "spine0->core0") / nic, 1);
  EXPECT_DOUBLE_EQ(width(fabric, "spine2->core1") / nic, 1);     // the first of the other pod: the same cores
  EXPECT_EQ(width(fabric, "spine0->core2"), BytesPerSecond{0});  // those are of the second spines
  EXPECT_DOUBLE_EQ(width(fabric, "spine3->core3") / nic, 1);
}

TEST(FatTree, OneCoreStandsForBalancedUplinks) {
  const Fabric fabric = tree("nodes_per_pod: 4, spines: 4");
  EXPECT_EQ(switches(fabric, "core"), 1);
  EXPECT_EQ(switches(fabric, "leaf"), 2);  // all nodes of a pod share one
  const BytesPerSecond nic = width(fabric, "node0.nic0->leaf0");
  EXPECT_DOUBLE_EQ(width(fabric, "spine7->core0") / nic, 8);
}

TEST(FatTree, MayHaveRails) {
  const Fabric fabric = tree("nodes_per_pod: 4, spines: 2, rails: true");
  EXPECT_EQ(switches(fabric, "leaf"), 16);  // eight rails in each pod
  EXPECT_EQ(way(fabric, "node0.gpu0", "node1.gpu0"), "leaf");
  EXPECT_EQ(way(fabric, "node0.gpu0", "node7.gpu0"), "leaf spine core spine leaf");
}

TEST(FatTree, OnePodNeedsNoCores) {
  const Fabric fabric = tree("nodes_per_pod: 8, nodes_per_leaf: 2, spines: 2, cores: 4");
  EXPECT_EQ(switches(fabric, "core"), 0);
  EXPECT_EQ(way(fabric, "node0.gpu0", "node7.gpu0"), "leaf spine leaf");
}

TEST(FatTree, IsDrawnWithItsCores) {
  const Fabric fabric = tree("nodes_per_pod: 2, spines: 2, cores: 2", "dgx_a100 x 4");
  EXPECT_THAT(to_svg(fabric), HasSubstr("core1"));
  EXPECT_THAT(to_svg(fabric), HasSubstr(">core switch</text>"));
  EXPECT_THAT(to_dot(fabric), HasSubstr("core1"));
}

/// Cores above spines above leaves above nodes: each tier in a row of its own.
TEST(FatTree, HasATierForEachKindOfSwitch) {
  const Fabric fabric = tree("nodes_per_pod: 2, spines: 2, cores: 2", "dgx_a100 x 4");
  const Layout layout = lay_out(fabric);
  const auto row_of = [&](const std::string& name) { return layout.centres[called(fabric, name)]->y; };
  EXPECT_EQ(fabric.vertices()[called(fabric, "core0")].kind, VertexKind::CoreSwitch);
  EXPECT_EQ(fabric.vertices()[called(fabric, "spine0")].kind, VertexKind::SpineSwitch);
  EXPECT_DOUBLE_EQ(row_of("core0"), row_of("core1"));
  EXPECT_DOUBLE_EQ(row_of("spine0"), row_of("spine3"));
  EXPECT_LT(row_of("core0"), row_of("spine0"));
  EXPECT_LT(row_of("spine0"), row_of("leaf0"));
  EXPECT_LT(row_of("leaf0"), row_of("node0.nic0"));
}

/// A drawing shows only a few of many nodes, with the switches that lie above them.
TEST(FatTree, KeepsTheCoresOfNodesThatAreDrawn) {
  const Fabric fabric = tree("nodes_per_pod: 2, spines: 2, cores: 2", "dgx_a100 x 16");
  const Layout layout = lay_out(fabric);
  EXPECT_TRUE(layout.centres[called(fabric, "core1")]);
  EXPECT_TRUE(layout.centres[called(fabric, "spine1")]);
  EXPECT_FALSE(layout.centres[called(fabric, "spine15")]);
}

TEST(FatTree, SaysWhatDoesNotAddUp) {
  EXPECT_THAT(tree_complaint("spines: 2"), HasSubstr("nodes_per_pod: a fat tree needs it"));
  EXPECT_THAT(tree_complaint("nodes_per_pod: 4, nodes_per_leaf: 3"),
              HasSubstr("nodes_per_leaf: must divide the 4 nodes of a pod"));
  EXPECT_THAT(tree_complaint("nodes_per_pod: 4, spines: 2, cores: 3"),
              HasSubstr("cores: must be 1, or a multiple of the 2 spines of a pod"));
  EXPECT_THAT(tree_complaint("nodes_per_pod: 4, pod_oversubscription: 0"),
              HasSubstr("pod_oversubscription: must be greater than 0"));
  EXPECT_THAT(tree_complaint("nodes_per_pod: 4, shape: leaf_spine"), HasSubstr("shape"));
}

}  // namespace
}  // namespace lockstep
