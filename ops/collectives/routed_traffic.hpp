#pragma once

#include <span>
#include <vector>

#include "ops/collectives/comm_algorithm.hpp"
#include "ops/collectives/nvlinks.hpp"

namespace lockstep {

/// The class of a step by the slowest kind of link on its way.
enum class HopClass : std::uint8_t { NvLink, Pcie, HostMemory, Network };

/// The slowest hop of its kind.
struct Hop {
  HopClass kind = HopClass::NvLink;
  Seconds latency;
};

/// Links that are alike for the price of a plan: of one kind and bandwidth, with one share.
struct LoadClass {
  LinkKind kind = LinkKind::NvLink;
  BytesPerSecond bandwidth;
  double share = 0;

  bool operator==(const LoadClass&) const = default;
};

/// An algorithm's traffic laid over the links of a fabric. Shares are bytes of payload per byte of the
/// request.
struct RoutedTraffic {
  std::vector<CommEdge> edges;     ///< by (src, dst), channels summed
  std::vector<LinkLoad> loads;     ///< by link
  std::vector<LoadClass> classes;  ///< of the loads; few, but one may stand more than once
  Hop within_nodes;
  Hop between_nodes{HopClass::Network, {}};
  double busiest_member = 0;  ///< most that leaves or enters one member
  double busiest_sender = 0;  ///< most that one member sends to other nodes
  bool enters_cpu = false;    ///< some of it enters a CPU socket over PCIe, not from a NIC

  [[nodiscard]] bool crosses_network() const;
};

/// Routes every edge by comm_route(src, dst, channel); parallel NVLinks share what crosses one of them. What
/// a GPU reads from host memory it asks for line by line: the requests load its way up (docs/collectives.md).
[[nodiscard]] RoutedTraffic route_traffic(const Fabric& fabric, const NvLinks& nvlinks,
                                          std::span<const VertexId> members, const GroupLayout& layout,
                                          const std::vector<ChannelEdge>& edges);

}  // namespace lockstep
