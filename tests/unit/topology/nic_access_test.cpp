#include "topology/nic_access.hpp"

#include <gmock/gmock.h>

#include <stdexcept>

#include "tests/unit/topology/machines.hpp"
#include "topology/peer_access.hpp"
#include "topology/read_cluster.hpp"

namespace lockstep {
namespace {

using namespace lockstep::testing;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

Fabric as_nccl_takes(const std::string& cluster, const PeerAccess& access = {}) {
  return with_peer_access(read_cluster(cluster, ConfigPath::standard()).fabric(), access);
}

/// Staging of a message from the first GPU to the last one.
Staging staging(const Fabric& fabric) {
  const VertexId from = fabric.gpus().front(), to = fabric.gpus().back();
  return staging_of(fabric, from, to, fabric.route(from, to));
}

void expect_staging(const Fabric& fabric, bool sender, bool receiver) {
  EXPECT_EQ(staging(fabric).sender, sender);
  EXPECT_EQ(staging(fabric).receiver, receiver);
}

// NCCL's own level is PXB: a NIC below the GPU's PCIe switch reaches its memory, one on the CPU's lanes not.
TEST(NicAccess, EndsAtTheHostBridge) {
  expect_staging(as_nccl_takes("dgx_a100 x 2"), false, false);
  expect_staging(as_nccl_takes("hgx_h100_4gpu x 2"), true, true);
  expect_staging(as_nccl_takes("hgx_h100_4gpu x 2", {{}, {{}, P2pLevel::Phb}, 0}), false, false);
  expect_staging(as_nccl_takes("dgx_a100 x 2", {{}, {{}, P2pLevel::Loc}, 0}), true, true);
}

// A Grace CPU hands on what NVLink-C2C brings.
TEST(NicAccess, ReachesAcrossC2c) {
  expect_staging(as_nccl_takes("gb200_nvl72 x 2"), false, false);
}

TEST(NicAccess, IsTheGpus) {
  const auto of = [](NicAccess access) {
    return PeerAccess{std::vector<GpuAccess>(16, {.nics = access}), {}, 0};
  };
  expect_staging(as_nccl_takes("dgx_a100 x 2", of(NicAccess::None)), true, true);
  expect_staging(as_nccl_takes("dgx_a100 x 2", of(NicAccess::ReadsWithNvLink)), false, false);
  Drawing drawing;  // without NVLink
  const VertexId leaf = drawing.add(device(VertexKind::LeafSwitch, -1, 0));
  for (int node = 0; node < 2; ++node) {
    for (const VertexId nic : add_node(drawing, node, {.nvswitch = false})) {
      drawing.connect(nic, leaf, kNetwork);
    }
  }
  const Fabric drawn{drawing.vertices, drawing.links};
  expect_staging(with_peer_access(drawn, of(NicAccess::ReadsWithNvLink)), true, false);
  expect_staging(with_peer_access(drawn, of(NicAccess::Full)), false, false);
}

TEST(NicAccess, LeavesASingleNodeAlone) {
  const Fabric drawn = read_cluster("hgx_h100_4gpu", ConfigPath::standard()).fabric();
  EXPECT_EQ(with_peer_access(drawn, {}).links().data(), drawn.links().data());
  const Fabric two = read_cluster("hgx_h100_4gpu x 2", ConfigPath::standard()).fabric();
  EXPECT_EQ(with_peer_access(two, {{}, {}, 4}).links().data(), two.links().data());  // the job's GPUs
}

TEST(NicAccess, PassesTheMemoryOfBothSockets) {
  const Fabric fabric = as_nccl_takes("dgx_a100 x 2", {{}, {{}, P2pLevel::Loc}, 0});
  const VertexId from = fabric.gpus().front(), to = fabric.gpus()[8];
  const Route direct = fabric.route(from, to);
  std::vector<std::string> names;
  const Route way = through_sockets(fabric, from, to, direct, {true, true}, 0);
  Seconds latency{0};
  for (const LinkId link : way.links) {
    names.push_back(fabric.vertices()[fabric.links()[link].to].name);
    latency += fabric.links()[link].latency;
  }
  EXPECT_THAT(names, ElementsAre("node0.pex0", "node0.cpu0", "node0.cpu0.memory", "node0.cpu0", "node0.pex0",
                                 "node0.nic0", "leaf0", "node1.nic0", "node1.pex0", "node1.cpu0",
                                 "node1.cpu0.memory", "node1.cpu0", "node1.pex0", "node1.gpu0"));
  EXPECT_EQ(way.latency, latency);
  EXPECT_EQ(through_sockets(fabric, from, to, direct, {false, false}, 0).links, direct.links);
}

TEST(NicAccess, NeedsASocket) {
  Drawing drawing;
  const VertexId leaf = drawing.add(device(VertexKind::LeafSwitch, -1, 0));
  for (int node = 0; node < 2; ++node) {
    const VertexId nic = drawing.add(device(VertexKind::Nic, node, 0));
    drawing.connect(drawing.add(gpu(node, 0)), nic, kPcie);
    drawing.connect(nic, leaf, kNetwork);
  }
  const Fabric fabric{drawing.vertices, drawing.links};
  EXPECT_THAT(
      [&] {
        (void)with_peer_access(fabric, {{}, {{}, P2pLevel::Loc}, 0});
      },
      ThrowsMessage<std::invalid_argument>(HasSubstr(
          "'node0.gpu0' exchanges with other nodes through host memory, as no NIC is near enough")));
}

}  // namespace
}  // namespace lockstep
