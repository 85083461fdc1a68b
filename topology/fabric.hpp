#pragma once

/// @file
/// The machine as a graph: devices are vertices, directed typed links are edges (Boost.Graph).

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/units.hpp"

namespace lockstep {

enum class VertexKind : std::uint8_t {
  Gpu,
  NvSwitch,
  PcieSwitch,
  CpuSocket,
  Nic,
  LeafSwitch,
  SpineSwitch,
  CoreSwitch,  ///< above the spines of several pods
  HostMemory,  ///< DRAM of a socket, not drawn by users: see with_peer_access()
};
enum class LinkKind : std::uint8_t { NvLink, Pcie, Socket, Network, HostMemory };

/// A switch between nodes.
constexpr bool is_network_switch(VertexKind kind) {
  return kind == VertexKind::LeafSwitch || kind == VertexKind::SpineSwitch || kind == VertexKind::CoreSwitch;
}

/// Who made a CPU socket: NCCL asks.
enum class CpuVendor : std::uint8_t { Unknown, Amd, Arm, Intel };

/// How far apart two GPUs of a node are, in NCCL's words (NCCL_P2P_LEVEL), nearest first.
enum class P2pLevel : std::uint8_t {
  Loc,  ///< the same GPU: no other is near enough (NCCL_P2P_DISABLE=1)
  Nvl,  ///< NVLink, also through NVSwitches
  Pix,  ///< one PCIe switch
  Pxb,  ///< several PCIe switches, no CPU
  Phb,  ///< the host bridge of one CPU
  Sys,  ///< the link between sockets
};

using VertexId = std::uint32_t;  ///< index into Fabric::vertices()
using LinkId = std::uint32_t;    ///< index into Fabric::links()

/// A device. What belongs to no node - leaf and spine switches, or a drawing without nodes - has node -1.
struct Vertex {
  VertexKind kind = VertexKind::Gpu;
  int node = -1;          ///< node number, -1 for none
  int index = 0;          ///< number among its kind in its node (or outside of nodes)
  std::string name;       ///< unique, e.g. `node0.gpu3`, `leaf2`
  std::string model;      ///< GPUs: the name of the GpuSpec; else empty
  bool forwards = false;  ///< GPUs: passes on what is meant for others; every other kind always does
  Bytes memory{0};        ///< CPU sockets: of their DRAM; 0: not known
  BytesPerSecond memory_bandwidth{0};        ///< CPU sockets: of their DRAM's channels together; 0: not known
  CpuVendor vendor = CpuVendor::Unknown;     ///< CPU sockets
  P2pLevel p2p_level = P2pLevel::Sys;        ///< GPUs: how far away its peers in the node may be
  P2pLevel nic_read_level = P2pLevel::Sys;   ///< GPUs: how far away NICs may be that read its memory
  P2pLevel nic_write_level = P2pLevel::Sys;  ///< likewise, that write it
};

/// One direction of a link. Several links may join the same two vertices: a message takes one of them, by
/// hash. Links that stripe every message (the bricks of an NVLink) are one Link with the summed bandwidth.
struct Link {
  VertexId from = 0;
  VertexId to = 0;
  LinkKind kind = LinkKind::NvLink;
  BytesPerSecond bandwidth;  ///< > 0, payload rate of this direction
  Seconds latency;           ///< >= 0, per traversal
  std::string name{};        ///< unique; left empty: that of Fabric::name_of()
};

/// The links a message crosses, in order. A vertex to itself crosses none.
struct Route {
  std::vector<LinkId> links;
  Seconds latency;  ///< sum over the links
};

class AlikeNodes;
struct NetworkFabric;

/// An immutable machine. Routes are deterministic: the same ends and flow give the same route.
///
/// A node never forwards between other nodes, and GPUs forward only when told to. docs/topology.md states the
/// rules. Safe to read from several threads. A copy is the same machine and costs nothing.
class Fabric {
 public:
  /// @throws std::invalid_argument naming the vertex or link for: a bandwidth <= 0 or infinite, a latency < 0
  ///   or > 100 s, a self-link, an unknown vertex, two vertices or links of one name, a GPU that another GPU
  ///   cannot reach
  Fabric(std::vector<Vertex> vertices, std::vector<Link> links);

  /// The same with other vertices and links, whose GPUs have the places that they have in @p other,
  /// and whose nodes are connected as there.
  [[nodiscard]] static Fabric in_order_of(const Fabric& other, std::vector<Vertex> vertices,
                                          std::vector<Link> links);

  /// The same machine whose GPUs have other ranks: @p gpus are all of them, in rank order.
  /// @throws std::logic_error when they are others
  [[nodiscard]] Fabric with_rank_order(std::vector<VertexId> gpus) const;

  /// The same machine, whose nodes NCCL connects by @p network (topology/network_fabric.hpp).
  [[nodiscard]] Fabric with_network(std::shared_ptr<const NetworkFabric> network) const;
  /// Null: not said.
  [[nodiscard]] const NetworkFabric* network() const { return network_.get(); }

  [[nodiscard]] std::span<const Vertex> vertices() const;
  [[nodiscard]] std::span<const Link> links() const;

  /// The name that @p link was given; else `from->to`, and `from->to#2`, ... where there are several.
  [[nodiscard]] std::string name_of(LinkId link) const;

  /// Its nodes that are copies of each other.
  [[nodiscard]] const AlikeNodes& alike_nodes() const;

  /// All GPUs in rank order: by node, then by index, unless with_rank_order() says another one.
  [[nodiscard]] std::span<const VertexId> gpus() const;

  /// The CPU sockets of node @p node in order of their ids; those outside nodes have -1.
  [[nodiscard]] std::span<const VertexId> sockets_of(int node) const;

  /// The links that leave @p vertex, in order of their ids.
  [[nodiscard]] std::span<const LinkId> links_from(VertexId vertex) const;

  /// The socket whose memory holds the buffers that @p gpu copies from and to: the nearest one of its node
  /// (without nodes: of the machine), of equally near ones the lowest number.
  /// @throws std::invalid_argument when there is none
  [[nodiscard]] VertexId host_memory_of(VertexId gpu) const;

  /// Shortest by latency, then by hops; GPUs leave their node through the NIC that is nearest (rail
  /// preference: of equally near NICs the one whose index equals the GPU's modulo their number); among
  /// equal-cost network paths ECMP picks by a hash of (from, to, flow), stated in docs/topology.md.
  /// @param flow tells parallel connections between the same two ends apart (NCCL channels)
  /// @throws std::invalid_argument when no route exists (never between GPUs)
  [[nodiscard]] Route route(VertexId from, VertexId to, std::uint64_t flow = 0) const;

 private:
  struct Departures;
  class Graph;
  std::shared_ptr<const Graph> graph_;
  std::shared_ptr<const std::vector<VertexId>> order_;  ///< null: by node, then by index
  std::shared_ptr<const NetworkFabric> network_;        ///< null: not said
};

/// The least bandwidth on @p route; infinite for a route without links.
[[nodiscard]] BytesPerSecond bottleneck(const Fabric& fabric, const Route& route);

/// `gpu`, `nvswitch`, `pcie_switch`, ...; `nvlink`, `pcie`, ...: the words of the configuration files.
[[nodiscard]] std::string to_string(VertexKind kind);
[[nodiscard]] std::string to_string(LinkKind kind);

}  // namespace lockstep
