#include <gmock/gmock.h>

#include <algorithm>

#include "ops/collectives/collective_planner.hpp"
#include "topology/peer_access.hpp"

namespace lockstep {
namespace {

using namespace lockstep::literals;

constexpr double kRequest = 24.0 / 152;  // of what a line that is read costs the way up

struct Shape {
  int gpus = 4;
  int sockets = 1;
  BytesPerSecond memory = 200_GBps;
  BytesPerSecond between_sockets = 50_GBps;
};

/// GPUs on PCIe links of 20 GB/s and 0.1 us, dealt to the sockets in order.
Fabric drawn(const Shape& shape) {
  std::vector<Vertex> vertices;
  std::vector<Link> links;
  const auto connect = [&](VertexId a, VertexId b, LinkKind kind, BytesPerSecond bandwidth) {
    links.push_back({a, b, kind, bandwidth, 0.1_us});
    links.push_back({b, a, kind, bandwidth, 0.1_us});
  };
  for (int i = 0; i < shape.sockets; ++i) {
    Vertex socket{VertexKind::CpuSocket, 0, i, "cpu" + std::to_string(i), ""};
    socket.memory_bandwidth = shape.memory;
    vertices.push_back(socket);
  }
  if (shape.sockets == 2) {
    connect(0, 1, LinkKind::Socket, shape.between_sockets);
  }
  for (int i = 0; i < shape.gpus; ++i) {
    vertices.push_back({VertexKind::Gpu, 0, i, "gpu" + std::to_string(i), "any"});
    connect(static_cast<VertexId>(vertices.size() - 1), static_cast<VertexId>(i * shape.sockets / shape.gpus),
            LinkKind::Pcie, 20_GBps);
  }
  return {vertices, links};
}

Fabric at(P2pLevel level, const Shape& shape) {
  return with_peer_access(drawn(shape), {{}, {level, {}}, 0});
}

Seconds time(const Fabric& fabric, CollectiveKind kind, Bytes size) {
  CollectiveRequest request;
  request.kind = kind;
  request.size = size;
  request.root = kind == CollectiveKind::Send ? 1 : 0;
  const std::vector<VertexId> members{fabric.gpus().begin(), fabric.gpus().end()};
  return time_alone(CollectivePlanner{fabric}.plan(request, members), fabric);
}

void expect_near(Seconds measured, Seconds expected) {
  EXPECT_NEAR(measured.in_base_units(), expected.in_base_units(), 1e-9 * expected.in_base_units());
}

// Two GPUs of one socket: S crosses each way up, with the requests for the S that is read. A step takes two
// links, up and down.
TEST(HostMemory, AllReduceOfTwoOnOneSocket) {
  expect_near(time(at(P2pLevel::Loc, {.gpus = 2}), CollectiveKind::AllReduce, 20_GB),
              2 * 0.2_us + Seconds{1.0 + kRequest});
}

// A message asks for itself on the way up of its receiver, where nothing else is: its own way up counts.
TEST(HostMemory, OneMessageTakesOneWayUp) {
  expect_near(time(at(P2pLevel::Loc, {.gpus = 2}), CollectiveKind::Send, 20_GB), 0.2_us + Seconds{1.0});
}

// Over two sockets the message crosses one link more; 10 GB/s between them are the narrowest.
TEST(HostMemory, AllReduceOfTwoOnTwoSockets) {
  expect_near(time(at(P2pLevel::Loc, {.gpus = 2, .sockets = 2, .between_sockets = 10_GBps}),
                   CollectiveKind::AllReduce, 20_GB),
              2 * 0.3_us + Seconds{2.0});
}

// A ring of four: 1.5 S leaves each GPU.
TEST(HostMemory, RingOfFour) {
  expect_near(time(at(P2pLevel::Loc, {}), CollectiveKind::AllReduce, 20_GB),
              6 * 0.2_us + Seconds{1.5 * (1 + kRequest)});
}

// The same where the socket's memory is narrow: four times 1.5 S are written, and as much is read, at 40
// GB/s.
TEST(HostMemory, RingOfFourOverNarrowMemory) {
  expect_near(time(at(P2pLevel::Loc, {.memory = 40_GBps}), CollectiveKind::AllReduce, 20_GB),
              6 * 0.2_us + Seconds{2 * 4 * 1.5 * 20 / 40});
}

// Reads through the memory are slower than the same messages between peers, and never faster than PCIe
// carries.
TEST(HostMemory, IsNeverFasterThanPeerAccess) {
  for (const Shape& shape :
       {Shape{}, Shape{.gpus = 2}, Shape{.gpus = 8, .sockets = 2}, Shape{.memory = 30_GBps}}) {
    for (const CollectiveKind kind :
         {CollectiveKind::AllReduce, CollectiveKind::ReduceScatter, CollectiveKind::AllGather,
          CollectiveKind::AllToAll, CollectiveKind::Broadcast, CollectiveKind::Send}) {
      Seconds nearer{0};
      for (const Bytes size : {1_KiB, 1_MiB, 1_GiB}) {
        for (const P2pLevel level : {P2pLevel::Sys, P2pLevel::Phb, P2pLevel::Loc}) {
          const Seconds now = time(at(level, shape), kind, size);
          EXPECT_GE(now, level == P2pLevel::Sys ? Seconds{0} : nearer);
          nearer = now;
        }
        const double sent = kind == CollectiveKind::Send || kind == CollectiveKind::Broadcast
                                ? 1.0
                                : static_cast<double>(shape.gpus - 1) / shape.gpus;
        EXPECT_GE(nearer, sent * size / 20_GBps) << to_string(kind);
      }
    }
  }
}

TEST(HostMemory, AStepTakesWhatTheProfileSays) {
  CollectiveOptions options;
  options.profile.ring.simple->pcie = 5_us;
  const Fabric fabric = at(P2pLevel::Loc, {.gpus = 2});
  const std::vector<VertexId> members{fabric.gpus().begin(), fabric.gpus().end()};
  CollectiveRequest request;
  request.size = Bytes{0};
  const auto latency = [&] { return CollectivePlanner{fabric, options}.plan(request, members).latency; };
  EXPECT_EQ(latency(), 10_us);  // left out: as over PCIe
  options.profile.ring.simple->host_memory = 7_us;
  EXPECT_EQ(latency(), 14_us);
  options.profile.ring.simple->host_memory = Seconds{-7e-6};
  EXPECT_THROW(options.profile.ring.simple->check(), FieldError);
}

// NVLinks are no way for a GPU without peers: NCCL_P2P_DISABLE takes them out, too.
TEST(HostMemory, TakesNvlinksOutWithoutPeers) {
  std::vector<Vertex> vertices{{VertexKind::CpuSocket, 0, 0, "cpu0", ""},
                               {VertexKind::NvSwitch, 0, 0, "hub", ""}};
  std::vector<Link> links;
  for (VertexId gpu = 2; gpu < 4; ++gpu) {
    vertices.push_back({VertexKind::Gpu, 0, static_cast<int>(gpu) - 2, "gpu" + std::to_string(gpu), "any"});
    for (const auto& [from, to] : {std::pair{gpu, VertexId{0}}, std::pair{VertexId{0}, gpu}}) {
      links.push_back({from, to, LinkKind::Pcie, 20_GBps, 1_us});
    }
    for (const auto& [from, to] : {std::pair{gpu, VertexId{1}}, std::pair{VertexId{1}, gpu}}) {
      links.push_back({from, to, LinkKind::NvLink, 300_GBps, 0.1_us});
    }
  }
  const Fabric fabric{vertices, links};
  expect_near(time(fabric, CollectiveKind::AllReduce, 30_GB), 2 * 0.2_us + Seconds{0.1});
  const Fabric without = with_peer_access(fabric, {{}, {P2pLevel::Loc, {}}, 0});
  expect_near(time(without, CollectiveKind::AllReduce, 20_GB), 2 * 2_us + Seconds{1 + kRequest});
}

/// A GPU and a NIC on the socket of each of two nodes, 20 GB/s and 0.1 us each, 40 GB/s and 1 us to a leaf.
Fabric two_nodes(BytesPerSecond memory, P2pLevel level) {
  std::vector<Vertex> vertices{{VertexKind::LeafSwitch, -1, 0, "leaf0", ""}};
  std::vector<Link> links;
  const auto connect = [&](VertexId a, VertexId b, const Link& like) {
    links.push_back({a, b, like.kind, like.bandwidth, like.latency});
    links.push_back({b, a, like.kind, like.bandwidth, like.latency});
  };
  for (int node = 0; node < 2; ++node) {
    const std::string name = "node" + std::to_string(node);
    const auto socket = static_cast<VertexId>(vertices.size());
    vertices.push_back({VertexKind::CpuSocket, node, 0, name + ".cpu0", ""});
    vertices.back().memory_bandwidth = memory;
    vertices.push_back({VertexKind::Gpu, node, 0, name + ".gpu0", "any"});
    vertices.push_back({VertexKind::Nic, node, 0, name + ".nic0", ""});
    connect(socket, socket + 1, {0, 0, LinkKind::Pcie, 20_GBps, 0.1_us});
    connect(socket, socket + 2, {0, 0, LinkKind::Pcie, 20_GBps, 0.1_us});
    connect(socket + 2, 0, {0, 0, LinkKind::Network, 40_GBps, 1_us});
  }
  return with_peer_access({vertices, links}, {{}, {{}, level}, 0});
}

// Behind the CPU's host bridge a NIC reads and writes host memory: each end writes and reads what passes,
// and the receiver asks for it on its own way up, which an all-reduce of two fills.
TEST(HostMemory, IsBetweenGpuAndNicBeyondTheHostBridge) {
  const Seconds latency = 2 * 2.4_us;
  expect_near(time(two_nodes(400_GBps, P2pLevel::Phb), CollectiveKind::AllReduce, 20_GB),
              latency + Seconds{1.0});
  expect_near(time(two_nodes(400_GBps, P2pLevel::Pxb), CollectiveKind::AllReduce, 20_GB),
              latency + Seconds{1.0 + kRequest});
  expect_near(time(two_nodes(40_GBps, P2pLevel::Pxb), CollectiveKind::AllReduce, 20_GB),
              latency + Seconds{2.0});  // sent and received, at 20 GB/s
}

}  // namespace
}  // namespace lockstep
