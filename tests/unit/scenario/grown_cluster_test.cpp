#include "scenario/grown_cluster.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>

#include "base/error.hpp"
#include "base/yaml_text.hpp"
#include "scenario/scenario_file.hpp"

namespace lockstep {
namespace {

using ::testing::HasSubstr;

YamlDocument on(const std::string& cluster) {
  return YamlDocument::from_text(
      "name: grows\ncluster: " + cluster + "\nworkload: { model: gpt2, global_batch: 64, precision: bf16 }\n",
      "grows.yaml");
}

GrownCluster grown(const std::string& cluster, int gpus) {
  return with_gpus(on(cluster), ConfigPath::standard(), gpus);
}

std::string written(const GrownCluster& made) {
  return flow_text(made.document.root().find("cluster")->value);
}

std::size_t gpus_of(const GrownCluster& made) {
  return read_document<ScenarioSpec>(made.document, ConfigPath::standard()).cluster->fabric().gpus().size();
}

TEST(GrownCluster, AShorthandStaysOne) {
  const GrownCluster made = grown("dgx_h100 x 2", 64);
  EXPECT_EQ(written(made), "dgx_h100 x 8");
  EXPECT_EQ(made.nodes, 8);
  EXPECT_EQ(gpus_of(made), 64U);
  EXPECT_EQ(flow_text(made.document.root().find("parallelism")->value.find("ranks")->value), "64");
  EXPECT_EQ(written(grown("dgx_h100", 16)), "dgx_h100 x 2");
  EXPECT_EQ(written(grown("dgx_h100 x 4", 8)), "dgx_h100 x 1");
}

TEST(GrownCluster, TheNetworkStays) {
  const GrownCluster made =
      grown("{ nodes: [dgx_a100 x 2], network: { shape: leaf_spine, nodes_per_leaf: 1, spines: 2 } }", 32);
  const auto scenario = read_document<ScenarioSpec>(made.document, ConfigPath::standard());
  EXPECT_EQ(scenario.cluster->network.shape, NetworkShape::LeafSpine);
  EXPECT_EQ(scenario.cluster->network.spines, 2);
  EXPECT_EQ(scenario.cluster->fabric().gpus().size(), 32U);
}

TEST(GrownCluster, ANamedClusterAndANodeInPlaceGrow) {
  EXPECT_EQ(gpus_of(grown("two_dgx_a100", 32)), 32U);
  const GrownCluster made = grown("{ nodes: [{ node: { from: dgx_a100, gpu: a100_80gb }, count: 1 }] }", 16);
  const auto scenario = read_document<ScenarioSpec>(made.document, ConfigPath::standard());
  const Fabric& fabric = scenario.cluster->fabric();
  ASSERT_EQ(fabric.gpus().size(), 16U);
  EXPECT_EQ(fabric.vertices()[fabric.gpus()[15]].model, "a100_80gb");
}

TEST(GrownCluster, AsManyAsThereAreChangeNothing) {
  EXPECT_EQ(written(grown("drawn_ring", gpus_of_scenario(on("drawn_ring"), ConfigPath::standard()))),
            "drawn_ring");
}

TEST(GrownCluster, RefusesWhatDoesNotSayOfWhichThereWouldBeMore) {
  const auto complaint = [](const std::string& cluster, int gpus) -> std::string {
    try {
      grown(cluster, gpus);
    } catch (const std::exception& error) {
      return error.what();
    }
    return "accepted";
  };
  EXPECT_THAT(complaint("drawn_ring", 64), HasSubstr("a machine that is drawn does not grow by itself"));
  EXPECT_THAT(complaint("{ nodes: [dgx_a100 x 2, dgx_h100 x 2] }", 64), HasSubstr("several kinds of nodes"));
  EXPECT_THAT(complaint("{ nodes: [dgx_a100 x 4], network: { shape: torus, dimensions: [2, 2] } }", 64),
              HasSubstr("as many nodes as its 'dimensions' say"));
  EXPECT_THAT(complaint("dgx_a100 x 2", 20), HasSubstr("20 GPUs: expected whole nodes of 8, e.g. 24"));
}

}  // namespace
}  // namespace lockstep
