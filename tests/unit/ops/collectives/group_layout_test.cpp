#include "ops/collectives/group_layout.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>

#include "ops/collectives/channels.hpp"
#include "ops/collectives/comm_route.hpp"
#include "tests/support/small_machines.hpp"
#include "topology/failure.hpp"
#include "topology/read_cluster.hpp"

namespace lockstep {
namespace {

using ::testing::_;
using testing::all_gpus;
using ::testing::AnyOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Le;
using ::testing::Pair;

TEST(LayOut, OneRingBehindAnNvSwitch) {
  const Fabric fabric = testing::switched_node(4);
  const GroupLayout layout = lay_out(fabric, NvLinks{fabric}, all_gpus(fabric));
  EXPECT_THAT(layout.rings, ElementsAre(ElementsAre(0, 1, 2, 3)));
  EXPECT_THAT(layout.nodes, ElementsAre(ElementsAre(0, 1, 2, 3)));
}

TEST(LayOut, DividesTheCubeMeshIntoRingsHoweverItsPairsAreDrawn) {
  for (const bool wide : {false, true}) {
    const Fabric fabric = testing::hybrid_cube_mesh(wide);
    const auto gpus = all_gpus(fabric);
    EXPECT_EQ(lay_out(fabric, NvLinks{fabric}, gpus).channels(), 6) << wide;
    EXPECT_EQ(lay_out(fabric, NvLinks{fabric}, std::span{gpus}.first(4)).channels(), 4) << wide;
    EXPECT_EQ(lay_out(fabric, NvLinks{fabric}, std::span{gpus}.first(5)).channels(), 2)
        << wide;  // no cycle over links of their own: GPU 4 is passed by way of GPU 0
  }
}

TEST(LayOut, HalvesTheLinksOfACliqueToUseThemAll) {
  // Three links of 100 GB/s a GPU (4 x A100 without switches): one cycle would leave a third of them idle,
  // six rings of 50 GB/s use all.
  testing::Sketch sketch;
  std::vector<VertexId> gpus;
  for (int gpu = 0; gpu < 4; ++gpu) {
    gpus.push_back(sketch.add(VertexKind::Gpu, 0, gpu, fmt::format("gpu{}", gpu)));
    for (int other = 0; other < gpu; ++other) {
      sketch.connect(gpus[static_cast<std::size_t>(other)], gpus.back(), LinkKind::NvLink,
                     100 * BytesPerSecond{1e9}, Seconds{1e-6});
    }
  }
  const Fabric fabric = sketch.fabric();
  EXPECT_EQ(lay_out(fabric, NvLinks{fabric}, gpus).channels(), 6);
}

TEST(LayOut, RingsCrossNodesOnTheirRail) {
  const Fabric fabric = testing::rail_cluster(4, 4);
  const GroupLayout layout = lay_out(fabric, NvLinks{fabric}, all_gpus(fabric));
  ASSERT_EQ(layout.channels(), 4);
  std::vector<int> left(4, 0);     // how many rings leave a node at this place
  std::vector<int> entered(4, 0);  // and enter it
  for (const auto& ring : layout.rings) {
    for (std::size_t i = 0; i < ring.size(); ++i) {
      const int from = ring[i];
      const int to = ring[(i + 1) % ring.size()];
      if (from / 4 == to / 4) {
        continue;
      }
      EXPECT_EQ(from % 4, to % 4) << "a message between nodes changes its rail";
      ++left[static_cast<std::size_t>(from % 4)];
      ++entered[static_cast<std::size_t>(to % 4)];
    }
  }
  // 4 rings of 4 crossings over 4 rails.
  EXPECT_THAT(left, ElementsAre(4, 4, 4, 4));
  EXPECT_THAT(entered, ElementsAre(4, 4, 4, 4));
}

// Two NICs of a DGX A100, each below the switch of two GPUs: rings enter and leave there, not over the CPU.
TEST(LayOut, RingsCrossNodesAtTheGpusNextToTheNics) {
  ClusterSpec spec = read_cluster("dgx_a100 x 2", ConfigPath::standard());
  spec.network.nics_per_node = 2;
  spec.check();
  const Fabric fabric = spec.fabric();
  const GroupLayout layout = lay_out(fabric, NvLinks{fabric}, all_gpus(fabric));
  ASSERT_EQ(layout.channels(), 2);
  std::vector<int> ends;  // numbers in their nodes
  for (const auto& ring : layout.rings) {
    for (const std::size_t end : {0, 7, 8, 15}) {
      ends.push_back(ring[end] % 8);
    }
  }
  EXPECT_THAT(ends, Each(AnyOf(0, 1, 4, 5)));
}

/// How often the rings of @p layout cross each NIC on their ways between nodes.
std::map<std::string, int> crossings(const Fabric& fabric, const GroupLayout& layout) {
  const NvLinks nvlinks{fabric};
  const auto gpus = all_gpus(fabric);
  std::map<std::string, int> counts;
  for (const auto& ring : layout.rings) {
    for (std::size_t i = 0; i < ring.size(); ++i) {
      const auto from = static_cast<std::size_t>(ring[i]);
      const auto to = static_cast<std::size_t>(ring[(i + 1) % ring.size()]);
      if (layout.node_of[from] == layout.node_of[to]) {
        continue;
      }
      for (const LinkId link : comm_route(fabric, nvlinks, gpus[from], gpus[to], 0).links) {
        const Vertex& stop = fabric.vertices()[fabric.links()[link].to];
        counts[stop.name] += stop.kind == VertexKind::Nic ? 1 : 0;
      }
    }
  }
  std::erase_if(counts, [](const auto& count) { return count.second == 0; });
  return counts;
}

// Between the last and the first of an odd number of nodes rings change their rails, not their NICs.
TEST(LayOut, UsesEveryNicOnceEachWayWhateverTheNumberOfNodes) {
  for (const int nodes : {2, 3, 5}) {
    const Fabric fabric = read_cluster(fmt::format("dgx_a100 x {}", nodes), ConfigPath::standard()).fabric();
    const auto counts = crossings(fabric, lay_out(fabric, NvLinks{fabric}, all_gpus(fabric)));
    EXPECT_EQ(counts.size(), static_cast<std::size_t>(8 * nodes));
    EXPECT_THAT(counts, Each(Pair(_, 2))) << nodes << " nodes";
  }
}

TEST(LayOut, HasTheChannelsOfTheNodeWithTheFewestNics) {
  const Fabric sound = read_cluster("dgx_a100 x 3", ConfigPath::standard()).fabric();
  for (const char* nic : {"node0.nic0", "node1.nic5", "node2.nic7"}) {
    const Fabric fabric = without_failed(sound, std::vector<std::string>{nic});
    const GroupLayout layout = lay_out(fabric, NvLinks{fabric}, all_gpus(fabric));
    EXPECT_EQ(layout.channels(), 7) << nic;
    EXPECT_THAT(crossings(fabric, layout), Each(Pair(_, Le(2)))) << nic;
    EXPECT_EQ(channel_limit(fabric, all_gpus(fabric)), 14) << nic;
  }
}

TEST(LayOut, KeepsTheMembersOfANodeTogetherWhateverTheGroupsOrder) {
  const Fabric fabric = testing::rail_cluster(2, 2);
  const auto gpus = all_gpus(fabric);
  const std::vector<VertexId> members{gpus[0], gpus[2], gpus[1], gpus[3]};
  const GroupLayout layout = lay_out(fabric, NvLinks{fabric}, members);
  EXPECT_THAT(layout.nodes, ElementsAre(ElementsAre(0, 2), ElementsAre(1, 3)));
  for (const auto& ring : layout.rings) {
    EXPECT_EQ(layout.node_of[static_cast<std::size_t>(ring[0])],
              layout.node_of[static_cast<std::size_t>(ring[1])]);
  }
}

/// 48 GPUs dealt to three leaves below a spine, some by longer cables: alike ones are told apart once, and
/// the ring is the one of comparing every member with every other.
TEST(LayOut, LargeFlatMachinesGoFromNearestToNearest) {
  testing::Sketch sketch;
  const VertexId spine = sketch.add(VertexKind::SpineSwitch, -1, 0, "spine");
  std::vector<VertexId> leaves, gpus;
  for (int leaf = 0; leaf < 3; ++leaf) {
    leaves.push_back(sketch.add(VertexKind::LeafSwitch, -1, leaf, fmt::format("leaf{}", leaf)));
    sketch.connect(leaves.back(), spine, LinkKind::Network, BytesPerSecond{100e9},
                   Seconds{1e-6 * (leaf + 1)});
  }
  for (int gpu = 0; gpu < 48; ++gpu) {
    gpus.push_back(sketch.add(VertexKind::Gpu, -1, gpu, fmt::format("gpu{}", gpu)));
    sketch.connect(gpus.back(), leaves[static_cast<std::size_t>(gpu * 7 % 3)], LinkKind::Network,
                   BytesPerSecond{50e9}, Seconds{gpu % 5 == 0 ? 2e-6 : 1e-6});
  }
  const Fabric fabric = sketch.fabric();
  std::vector<int> expected{0}, left(47);
  std::iota(left.begin(), left.end(), 1);
  while (!left.empty()) {
    const auto distance = [&](int to) {
      const Route way =
          fabric.route(gpus[static_cast<std::size_t>(expected.back())], gpus[static_cast<std::size_t>(to)]);
      return std::tuple{way.latency, way.links.size()};
    };
    const auto nearest = std::ranges::min_element(left, {}, distance);
    expected.push_back(*nearest);
    left.erase(nearest);
  }
  EXPECT_THAT(lay_out(fabric, NvLinks{fabric}, gpus).rings, ElementsAre(expected));
}

TEST(LayOut, RefusesWhatIsNoGroup) {
  const Fabric fabric = testing::switched_node(2);
  const auto gpus = all_gpus(fabric);
  EXPECT_THROW((void)lay_out(fabric, NvLinks{fabric}, {}), std::invalid_argument);
  EXPECT_THROW((void)lay_out(fabric, NvLinks{fabric}, std::vector{gpus[0], gpus[0]}), std::invalid_argument);
  EXPECT_THROW((void)lay_out(fabric, NvLinks{fabric}, std::vector<VertexId>{0}),
               std::invalid_argument);  // the switch
}

}  // namespace
}  // namespace lockstep
