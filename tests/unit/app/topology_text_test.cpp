#include "app/topology_text.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "app/topology_json.hpp"
#include "topology/read_cluster.hpp"

namespace lockstep {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// 15.754 GB/s x 0.840 = 13.23 GB/s, twice 150 ns over a switch; through the socket four times.
TEST(TopologyText, ShowsAWorkstation) {
  const Fabric fabric = read_cluster("workstation_4gpu_pcie").fabric();
  EXPECT_EQ(topology_text("box", fabric, {{fabric.gpus()[0], fabric.gpus()[2], 0}}),
            R"(box: 4 GPUs in 1 node

Devices
        4  gpu titan_xp
        2  pcie_switch
        1  cpu

Links (each direction is one)
       12  pcie      13.23 GB/s   150 ns

GPU to GPU: bandwidth of the route's narrowest link, GB/s (row to column)
           gpu0   gpu1   gpu2   gpu3
    gpu0      -  13.23  13.23  13.23
    gpu1  13.23      -  13.23  13.23
    gpu2  13.23  13.23      -  13.23
    gpu3  13.23  13.23  13.23      -

GPU to GPU: latency of the route, ns
           gpu0   gpu1   gpu2   gpu3
    gpu0      -    300    600    600
    gpu1    300      -    600    600
    gpu2    600    600      -    300
    gpu3    600    600    300      -

Route of flow 0 from node0.gpu0 to node0.gpu2: 13.23 GB/s, 600 ns
  node0.gpu0->node0.plx0                   pcie      13.23 GB/s   150 ns
  node0.plx0->node0.cpu0                   pcie      13.23 GB/s   150 ns
  node0.cpu0->node0.plx1                   pcie      13.23 GB/s   150 ns
  node0.plx1->node0.gpu2                   pcie      13.23 GB/s   150 ns
)");
}

TEST(TopologyText, SumsUpLargeClusters) {
  const std::string text = topology_text("many", read_cluster("dgx_a100 x 8").fabric(), {});
  EXPECT_THAT(text, HasSubstr("many: 64 GPUs in 8 nodes"));
  EXPECT_THAT(text, HasSubstr("112 pairs  282.4 GB/s    200 ns  gpu nvswitch gpu"));  // 16 sources x 7
  EXPECT_THAT(text, Not(HasSubstr("row to column")));
}

TEST(TopologyJson, HoldsTheMachine) {
  const Fabric fabric = read_cluster("dgx_a100 x 1").fabric();
  const auto json =
      nlohmann::json::parse(topology_json("one", fabric, {{fabric.gpus()[0], fabric.gpus()[1], 3}}));
  EXPECT_EQ(json["vertices"].size(), fabric.vertices().size());
  EXPECT_EQ(json["links"].size(), fabric.links().size());
  EXPECT_DOUBLE_EQ(json["gpu_bandwidth_bytes_per_s"][0][7].get<double>(), 12 * 25e9 * 0.9412);
  EXPECT_TRUE(json["gpu_latency_s"][3][3].is_null());
  EXPECT_EQ(json["routes"][0]["flow"], 3);
  EXPECT_EQ(json["routes"][0]["links"][1], "node0.nvswitch->node0.gpu1");
}

TEST(ReadCluster, NamesWhatWasMeant) {
  try {
    (void)read_cluster("dgx_a10");
    FAIL();
  } catch (const InputError& error) {
    EXPECT_STREQ(error.what(),
                 "CLUSTER: there is no 'dgx_a10' in configs/clusters or configs/nodes - did you mean "
                 "'dgx_a100'?");
  }
}

}  // namespace
}  // namespace lockstep
