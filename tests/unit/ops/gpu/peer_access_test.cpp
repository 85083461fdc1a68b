#include "topology/peer_access.hpp"
#include "ops/gpu/gpu_access.hpp"

#include <gmock/gmock.h>

#include <stdexcept>

#include "base/yaml_reader.hpp"
#include "tests/unit/topology/machines.hpp"
#include "topology/read_cluster.hpp"

namespace lockstep {
namespace {

using namespace lockstep::testing;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

const std::vector<GpuAccess> kEverywhere;

Fabric preset(const std::string& cluster) {
  return read_cluster(cluster, ConfigPath::standard()).fabric();
}

std::vector<std::string> stops(const Fabric& fabric, const Route& route) {
  std::vector<std::string> names;
  for (const LinkId link : route.links) {
    names.push_back(fabric.vertices()[fabric.links()[link].to].name);
  }
  return names;
}

bool peers(const Fabric& fabric, std::size_t a, std::size_t b) {
  const VertexId from = fabric.gpus()[a];
  const VertexId to = fabric.gpus()[b];
  return are_peers(fabric, from, to, fabric.route(from, to));
}

std::size_t memories(const Fabric& fabric) {
  return static_cast<std::size_t>(
      std::ranges::count(fabric.vertices(), VertexKind::HostMemory, &Vertex::kind));
}

// NCCL's own level is PXB: GPUs below one PCIe switch are peers, those that a host bridge parts are not.
TEST(PeerAccess, EndsAtTheHostBridge) {
  const Fabric fabric = with_peer_access(preset("workstation_4gpu_pcie"), {kEverywhere, {}, 0});
  EXPECT_TRUE(peers(fabric, 0, 1));
  EXPECT_FALSE(peers(fabric, 0, 2));
  EXPECT_EQ(memories(fabric), 1U);
  EXPECT_EQ(fabric.vertices().back().name, "node0.cpu0.memory");
  EXPECT_EQ(fabric.links().back().bandwidth, 34.15_GBps);  // reads: half of 68.3
}

TEST(PeerAccess, PairsOnAmdReachAcrossTheCpu) {
  const Fabric drawn = preset("workstation_4gpu_pcie4");
  EXPECT_EQ(memories(with_peer_access(drawn, {kEverywhere, {}, 2})), 0U);
  EXPECT_EQ(memories(with_peer_access(drawn, {kEverywhere, {}, 3})), 1U);
  EXPECT_EQ(memories(with_peer_access(preset("workstation_4gpu_pcie"), {{}, {}, 2})),
            0U);  // a switch
}

TEST(PeerAccess, IsWhatTheLevelSays) {
  const Fabric drawn = preset("server_8gpu_pcie4");
  const auto at = [&](P2pLevel level) { return with_peer_access(drawn, {kEverywhere, {level, {}}, 0}); };
  EXPECT_TRUE(peers(at(P2pLevel::Sys), 0, 4));
  EXPECT_FALSE(peers(at(P2pLevel::Phb), 0, 4));
  EXPECT_TRUE(peers(at(P2pLevel::Phb), 0, 3));
  EXPECT_FALSE(peers(at(P2pLevel::Pxb), 0, 3));
  EXPECT_EQ(memories(at(P2pLevel::Sys)), 0U);
  EXPECT_EQ(memories(at(P2pLevel::Phb)), 2U);
}

/// 40 GPUs on one socket: peers where one PCIe switch joins them, else through the socket's memory.
TEST(PeerAccess, OfManyAlikeGpusIsThatOfTwo) {
  for (const bool is_split : {false, true}) {
    std::vector<Vertex> vertices{device(VertexKind::CpuSocket, 0, 0), device(VertexKind::PcieSwitch, 0, 0),
                                 device(VertexKind::PcieSwitch, 0, 1)};
    vertices[0].memory_bandwidth = 100_GBps;
    std::vector<Link> links;
    const auto connect = [&](VertexId a, VertexId b) {
      links.push_back({a, b, LinkKind::Pcie, 16_GBps, 400_ns});
      links.push_back({b, a, LinkKind::Pcie, 16_GBps, 400_ns});
    };
    connect(0, 1);
    connect(0, 2);
    for (int i = 0; i < 40; ++i) {
      vertices.push_back(gpu(0, i));
      connect(static_cast<VertexId>(vertices.size() - 1), is_split && i >= 20 ? 2 : 1);
    }
    const Fabric fabric = with_peer_access({vertices, links}, {kEverywhere, {}, 0});
    EXPECT_EQ(memories(fabric), is_split ? 1U : 0U);
    EXPECT_TRUE(peers(fabric, 0, 19));
    EXPECT_EQ(peers(fabric, 0, 39), !is_split);
  }
}

TEST(PeerAccess, IsNvlinksWhateverPcieAllows) {
  const Fabric pairs = preset("a100_pcie_pairs");
  const Fabric fabric =
      with_peer_access(pairs, {std::vector<GpuAccess>(4, {.over_pcie = false}), {P2pLevel::Sys, {}}, 0});
  EXPECT_TRUE(peers(fabric, 0, 1));
  EXPECT_FALSE(peers(fabric, 1, 2));
  const Fabric none = with_peer_access(pairs, {kEverywhere, {P2pLevel::Loc, {}}, 0});
  EXPECT_FALSE(peers(none, 0, 1));
}

// Nothing is drawn where nothing goes through memory: switches of NVLinks, and a DGX-1V's third GPUs.
TEST(PeerAccess, LeavesOtherMachinesAlone) {
  for (const char* cluster : {"dgx_a100 x 2", "dgx1v", "gb200_nvl72"}) {
    const Fabric drawn = preset(cluster);
    EXPECT_EQ(with_peer_access(drawn, {kEverywhere, {}, 0}).links().data(), drawn.links().data()) << cluster;
  }
}

TEST(PeerAccess, WritesIntoTheMemoryOfTheReceiver) {
  const Fabric fabric = with_peer_access(preset("server_8gpu_pcie4"), {kEverywhere, {P2pLevel::Nvl, {}}, 0});
  const auto way = [&](std::size_t from, std::size_t to) {
    return stops(fabric, through_host_memory(fabric, fabric.gpus()[from], fabric.gpus()[to], 0));
  };
  EXPECT_THAT(way(0, 1), ElementsAre("node0.cpu0", "node0.cpu0.memory", "node0.cpu0", "node0.gpu1"));
  EXPECT_THAT(way(0, 4),
              ElementsAre("node0.cpu0", "node0.cpu1", "node0.cpu1.memory", "node0.cpu1", "node0.gpu4"));
}

TEST(PeerAccess, NeedsASocket) {
  Drawing drawing;
  const VertexId plx = drawing.add(device(VertexKind::PcieSwitch, 0, 0));
  drawing.connect(drawing.add(gpu(0, 0)), plx, kPcie);
  drawing.connect(drawing.add(gpu(0, 1)), plx, kPcie);
  const Fabric fabric{drawing.vertices, drawing.links};
  EXPECT_THAT(
      [&] {
        (void)with_peer_access(fabric, {kEverywhere, {P2pLevel::Loc, {}}, 0});
      },
      ThrowsMessage<std::invalid_argument>(
          HasSubstr("'node0.gpu0' and 'node0.gpu1' have no peer access and exchange through host memory")));
}

TEST(PeerAccess, KnowsNcclsWords) {
  EXPECT_EQ(p2p_level_of("PHB"), P2pLevel::Phb);
  EXPECT_THAT([] { (void)p2p_level_of("phb"); },
              ThrowsMessage<std::invalid_argument>("'phb' is no p2p_level: LOC, NVL, PIX, PXB, PHB, SYS"));
}

TEST(PeerAccess, IsKnownOfModels) {
  Drawing drawing;
  for (const char* model : {"rtx_4090_24gb", "a100_80gb", "rtx_3090_24gb"}) {
    Vertex card = gpu(0, static_cast<int>(drawing.vertices.size()));
    card.model = model;
    drawing.add(card);
    if (drawing.vertices.size() > 1) {
      drawing.connect(0, static_cast<VertexId>(drawing.vertices.size() - 1), kPcie);
    }
  }
  drawing.vertices[0].forwards = true;
  const auto access = access_of_models({drawing.vertices, drawing.links}, ConfigPath::standard());
  EXPECT_THAT(access, ElementsAre(Field(&GpuAccess::over_pcie, false), Field(&GpuAccess::over_pcie, true),
                                  Field(&GpuAccess::over_pcie, false)));
  EXPECT_THAT(access,
              ElementsAre(Field(&GpuAccess::nics, NicAccess::None), Field(&GpuAccess::nics, NicAccess::Full),
                          Field(&GpuAccess::nics, NicAccess::None)));
}

}  // namespace
}  // namespace lockstep
