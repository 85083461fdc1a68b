#pragma once

#include <span>
#include <vector>

#include "ops/collectives/comm_algorithm.hpp"
#include "ops/collectives/pair_ways.hpp"

namespace lockstep {

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

/// Lays every edge over the way of its pair and channel. @param ways those of @p fabric
[[nodiscard]] RoutedTraffic route_traffic(PairWays& ways, const Fabric& fabric,
                                          std::span<const VertexId> members, const GroupLayout& layout,
                                          const std::vector<ChannelEdge>& traffic);

}  // namespace lockstep
