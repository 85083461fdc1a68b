#include "topology/cluster_spec.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/effective.hpp"
#include "base/yaml_reader.hpp"
#include "tests/support/drawn_cluster.hpp"
#include "tests/unit/topology/machines.hpp"

namespace lockstep {
namespace {

using namespace lockstep::testing;
using ::testing::HasSubstr;

struct Machine {
  Named<ClusterSpec> cluster;

  template <class Visitor>
  static void describe(Visitor& key, Machine& machine) {
    key.required("cluster", machine.cluster, "the machine");
  }
};

ClusterSpec read(const std::string& cluster) {
  return *read_text<Machine>("cluster: " + cluster, "test.yaml").cluster;
}

std::string complaint_about(const std::string& cluster) {
  try {
    read(cluster);
  } catch (const InputError& error) {
    return error.what();
  }
  return "accepted";
}

int count(const Fabric& fabric, VertexKind kind) {
  return static_cast<int>(std::ranges::count(fabric.vertices(), kind, &Vertex::kind));
}

TEST(ClusterSpec, TheShorthandIsNodesTimesCount) {
  const ClusterSpec cluster = read("dgx_a100 x 2");
  ASSERT_EQ(cluster.nodes.size(), 1U);
  EXPECT_EQ(cluster.nodes[0].node->name, "dgx_a100");
  EXPECT_EQ(cluster.nodes[0].count, 2);
}

TEST(ClusterSpec, OnlySocketsHaveAVendor) {
  EXPECT_THAT(complaint_about("{vertices: [{name: gpu, kind: gpu, model: a100_40gb, vendor: amd}]}"),
              HasSubstr("vendor: only CPU sockets have one"));
  EXPECT_THAT(complaint_about("{vertices: [{name: dram, kind: memory}]}"),
              HasSubstr("memory is part of a socket: say 'memory' and 'memory_bandwidth' of a cpu"));
  EXPECT_THAT(
      complaint_about("{nodes: [dgx_a100], links: [{connect: node0.gpu0, with: node0.cpu0, link: {name: x, "
                      "source: x, kind: memory, line_rate: 1 GB/s, latency: 1 us}}]}"),
      HasSubstr("host memory is no link: say 'memory_bandwidth' of a cpu"));
  EXPECT_EQ(read("dgx_a100").fabric().vertices().back().vendor, CpuVendor::Amd);
}

TEST(ClusterSpec, ANodeAloneIsOneOfIt) {
  const ClusterSpec cluster = read("dgx_a100");
  ASSERT_EQ(cluster.nodes.size(), 1U);
  EXPECT_EQ(cluster.nodes[0].node->name, "dgx_a100");
  EXPECT_EQ(cluster.nodes[0].count, 1);
  EXPECT_EQ(read("{ from: dgx_a100, network: { spines: 4 } }").network.spines, 4);
}

TEST(ClusterSpec, AShorthandCanBeChangedInPart) {
  YamlDocument document = YamlDocument::from_text("cluster: dgx_a100 x 4\n", "test.yaml");
  document.set("cluster.network.shape", "leaf_spine");
  const ClusterSpec cluster = *read_document<Machine>(document).cluster;
  EXPECT_EQ(cluster.nodes.at(0).count, 4);
  EXPECT_EQ(cluster.network.shape, NetworkShape::LeafSpine);
}

// Named configurations are written out, the shorthand in its long form; and it means the same when read back.
TEST(ClusterSpec, TheEffectiveConfigurationReadsBack) {
  const YamlDocument document = YamlDocument::from_text("cluster: dgx1v x 2\n", "test.yaml");
  const std::string whole = effective_text<Machine>(document);
  EXPECT_THAT(whole, HasSubstr("count: 2"));
  const Fabric once = read_document<Machine>(document).cluster->fabric();
  const Fabric again = read_text<Machine>(whole, "effective.yaml", ConfigPath{{}}).cluster->fabric();
  ASSERT_EQ(once.links().size(), again.links().size());
  for (LinkId id = 0; id < once.links().size(); ++id) {
    EXPECT_EQ(once.name_of(id), again.name_of(id));
    EXPECT_EQ(once.links()[id].bandwidth, again.links()[id].bandwidth);
  }
}

TEST(ClusterSpec, NodesMayDiffer) {
  const Fabric fabric = read("{ nodes: [dgx1v, dgx_a100 x 2] }").fabric();
  EXPECT_EQ(fabric.gpus().size(), 24U);
  EXPECT_EQ(fabric.vertices()[fabric.gpus()[7]].model, "v100_32gb");
  EXPECT_EQ(fabric.vertices()[fabric.gpus()[8]].name, "node1.gpu0");
  // The four EDR ports of the DGX-1V and the first of the DGX A100s share rails 0 to 3: the slower end
  // decides.
  const Route route = fabric.route(find(fabric, "node0.gpu0"), find(fabric, "node1.gpu0"));
  EXPECT_NEAR(bottleneck(fabric, route) / 1_GBps, 12.5 * 0.9937, 0.001);
}

TEST(ClusterSpec, AGpuModelCanBeExchanged) {
  const Fabric fabric = read("{ nodes: [{ node: { from: dgx_a100, gpu: a100_80gb } }] }").fabric();
  EXPECT_EQ(fabric.vertices()[fabric.gpus()[0]].model, "a100_80gb");
}

// Two nodes a leaf, 8 NICs a node: 16 x 24.84 GB/s below a leaf; a quarter of that over 4 spines.
TEST(ClusterSpec, OversubscriptionThinsTheUplinks) {
  const Fabric fabric = read("four_dgx_a100_oversubscribed").fabric();
  EXPECT_EQ(count(fabric, VertexKind::LeafSwitch), 2);
  EXPECT_EQ(count(fabric, VertexKind::SpineSwitch), 4);
  const Link* uplink = find_link(fabric, "leaf0->spine0");
  ASSERT_NE(uplink, nullptr);
  EXPECT_NEAR(uplink->bandwidth / 1_GBps, 16 * 25 * 0.9937 / 4 / 4, 1e-6);
}

TEST(ClusterSpec, RailOptimisedHasALeafARail) {
  const Fabric fabric = read("{ nodes: [dgx_a100 x 4], network: { nodes_per_leaf: 2, spines: 2 } }").fabric();
  EXPECT_EQ(count(fabric, VertexKind::LeafSwitch), 16);  // 8 rails x 2 groups
  EXPECT_EQ(path(fabric, "node0.gpu1", "node1.gpu1"),
            "node0.gpu1 node0.pex0 node0.nic1 leaf1 node1.nic1 node1.pex0 node1.gpu1");
  EXPECT_EQ(fabric.route(find(fabric, "node0.gpu1"), find(fabric, "node2.gpu1")).links.size(),
            8U);  // over a spine
}

TEST(ClusterSpec, WithoutSpinesRailsAreReachedThroughTheNodesOwnPcie) {
  const Fabric fabric = read("{ nodes: [dgx_a100 x 2], network: { spines: 0 } }").fabric();
  EXPECT_EQ(path(fabric, "node0.gpu0", "node1.gpu7"),
            "node0.gpu0 node0.pex0 node0.nic0 leaf0 node1.nic0 node1.pex0 node1.cpu0 node1.cpu1 node1.pex3 "
            "node1.gpu7");
}

TEST(ClusterSpec, ADrawingMayJoinNodes) {
  const Fabric fabric = read(R"(
  nodes: [a100_pcie_pairs x 2]
  network: { shape: none }
  links:
    - { connect: node0.nic0, with: node1.nic0, link: infiniband_hdr }
)")
                            .fabric();
  EXPECT_EQ(path(fabric, "node0.gpu0", "node1.gpu1"),
            "node0.gpu0 node0.cpu0 node0.nic0 node1.nic0 node1.cpu0 node1.gpu1");
}

TEST(ClusterSpecErrors, UnknownNode) {
  EXPECT_THAT(complaint_about("dgx_a10 x 2"),
              HasSubstr("test.yaml:1:10: there is no 'dgx_a10' in configs/nodes - "
                        "did you mean 'dgx_a100'?"));
}

TEST(ClusterSpecErrors, UnknownCluster) {
  EXPECT_THAT(
      complaint_about("two_dgx_a10"),
      HasSubstr("test.yaml:1:10: cluster: there is no 'two_dgx_a10' in configs/clusters or configs/nodes "
                "- did you mean 'two_dgx_a100'?"));
}

TEST(ClusterSpecErrors, HowMany) {
  EXPECT_EQ(complaint_about("dgx_a100 x many"),
            "test.yaml:1:10: cluster: expected a kind of node and a number, e.g. dgx_a100 x 4, not 'dgx_a100 "
            "x many'");
  EXPECT_THAT(complaint_about("dgx_a100 x 0"), HasSubstr("count: must be at least 1"));
}

TEST(ClusterSpecErrors, NoNicForANetwork) {
  EXPECT_THAT(
      complaint_about("workstation_4gpu_pcie x 2"),
      HasSubstr("test.yaml:1:10: nodes: 'workstation_4gpu_pcie' has no NIC for the network between nodes"));
}

TEST(ClusterSpecErrors, Oversubscription) {
  EXPECT_THAT(
      complaint_about("{ nodes: [dgx_a100 x 2], network: { shape: leaf_spine, oversubscription: 2 } }"),
      HasSubstr("network: oversubscription has no effect without uplinks"));
}

TEST(ClusterSpecErrors, NothingInIt) {
  EXPECT_THAT(complaint_about("{ name: empty }"), HasSubstr("a cluster needs a GPU"));
}

/// Three GPUs, drawn; the tests add lines.
std::string drawing(const std::string& lines) {
  return "\n  vertices:\n    - { name: gpu, kind: gpu, count: 3, model: v100_32gb }\n  links:\n" + lines;
}

TEST(ClusterSpecErrors, UnknownVertex) {
  EXPECT_EQ(complaint_about(drawing("    - { connect: gpu0, with: gpu1, link: nvlink2 }\n"
                                    "    - { connect: gpu0, with: gpu5, link: nvlink2 }\n")),
            "test.yaml:6:30: links.1.with: nothing is called 'gpu5' - did you mean 'gpu0'?");
}

TEST(ClusterSpecErrors, SelfLink) {
  EXPECT_EQ(complaint_about(drawing("    - { connect: gpu*, with: gpu1, link: nvlink2 }\n")),
            "test.yaml:5:30: links.0.with: joins 'gpu1' to itself");
}

TEST(ClusterSpecErrors, DisconnectedGpu) {
  EXPECT_THAT(
      complaint_about(drawing("    - { connect: gpu0, with: gpu1, link: nvlink2 }\n")),
      HasSubstr(
          "test.yaml:2:3: no route from GPU 'gpu0' to GPU 'gpu2': link them, or both to a common switch"));
}

TEST(ClusterSpecErrors, BandwidthAndLatency) {
  EXPECT_THAT(complaint_about(drawing(
                  "    - connect: gpu0\n      with: gpu1\n"
                  "      link: { name: a, source: b, kind: pcie, line_rate: 0 GB/s, latency: 1 us }\n")),
              HasSubstr("test.yaml:7:58: line_rate: must be greater than 0"));
  EXPECT_THAT(complaint_about(drawing("    - connect: gpu0\n      with: gpu1\n"
                                      "      link: { from: nvlink2, line_rate: -1 GB/s }\n")),
              HasSubstr("line_rate: must be greater than 0"));
  EXPECT_THAT(complaint_about(
                  drawing("    - { connect: gpu0, with: gpu1, link: { from: nvlink2, latency: -1 us } }\n")),
              HasSubstr("latency: must be 0 to 100 s"));
}

TEST(ClusterSpecErrors, TwoOfOneName) {
  EXPECT_THAT(complaint_about("\n  vertices:\n    - { name: gpu, kind: gpu, count: 2, model: p100 }\n"
                              "    - { name: gpu1, kind: gpu, model: p100 }\n"),
              HasSubstr("test.yaml:4:7: vertices.1: there are two called 'gpu1'"));
}

TEST(ClusterSpecErrors, GpuWithoutModel) {
  EXPECT_THAT(complaint_about("\n  vertices:\n    - { name: gpu, kind: gpu }\n"),
              HasSubstr("vertices.0: a GPU needs a 'model'"));
}

TEST(ClusterSpecErrors, UnequalPairs) {
  EXPECT_THAT(
      complaint_about(drawing("    - { connect: gpu0 gpu1, with: gpu2, pairwise: true, link: nvlink2 }\n")),
      HasSubstr("pairwise needs as many to connect as to connect with, not 2 and 1"));
}

}  // namespace
}  // namespace lockstep
