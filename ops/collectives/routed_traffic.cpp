#include "ops/collectives/routed_traffic.hpp"

#include <algorithm>
#include <numeric>
#include <tuple>
#include <unordered_map>

#include "ops/collectives/comm_route.hpp"

namespace lockstep {
namespace {

/// Bytes of a request to read a line of 128 bytes over those of a packet that writes one: 4 of framing, 16 of
/// header and 4 of LCRC, and 128 more. A kernel's loads and stores are lines. Source: PCI Express base
/// specification.
constexpr double kReadRequest = 24.0 / (24 + 128);

HopClass class_of(const Fabric& fabric, const Route& route) {
  HopClass worst = HopClass::NvLink;
  for (const LinkId link : route.links) {
    const LinkKind kind = fabric.links()[link].kind;
    const HopClass here = kind == LinkKind::NvLink    ? HopClass::NvLink
                          : kind == LinkKind::Network ? HopClass::Network
                                                      : HopClass::Pcie;
    worst = std::max(worst, here);
  }
  return worst;
}

/// By sender, receiver and channel. Large groups have a hundred thousand edges, but a sender only has a few:
/// they are dealt to their senders first.
std::vector<ChannelEdge> sorted(const std::vector<ChannelEdge>& traffic, int members) {
  std::vector<std::size_t> first(static_cast<std::size_t>(members) + 1, 0);
  for (const ChannelEdge& edge : traffic) {
    ++first[static_cast<std::size_t>(edge.src) + 1];
  }
  std::partial_sum(first.begin(), first.end(), first.begin());
  std::vector<ChannelEdge> dealt(traffic.size());
  std::vector<std::size_t> next{first.begin(), first.end() - 1};
  for (const ChannelEdge& edge : traffic) {
    dealt[next[static_cast<std::size_t>(edge.src)]++] = edge;
  }
  for (std::size_t src = 0; src + 1 < first.size(); ++src) {
    std::sort(dealt.begin() + static_cast<std::ptrdiff_t>(first[src]),
              dealt.begin() + static_cast<std::ptrdiff_t>(first[src + 1]),
              [](const ChannelEdge& a, const ChannelEdge& b) {
                return std::tie(a.dst, a.channel) < std::tie(b.dst, b.channel);
              });
  }
  return dealt;
}

void merge_channels(const std::vector<ChannelEdge>& traffic, std::vector<CommEdge>& edges) {
  for (const ChannelEdge& edge : traffic) {
    if (!edges.empty() && edges.back().src == edge.src && edges.back().dst == edge.dst) {
      edges.back().share += edge.share;
    } else {
      edges.push_back({edge.src, edge.dst, edge.share});
    }
  }
}

double busiest(const std::vector<CommEdge>& edges, int members) {
  std::vector<double> out(static_cast<std::size_t>(members), 0.0);
  std::vector<double> in = out;
  for (const CommEdge& edge : edges) {
    out[static_cast<std::size_t>(edge.src)] += edge.share;
    in[static_cast<std::size_t>(edge.dst)] += edge.share;
  }
  return std::max(*std::max_element(out.begin(), out.end()), *std::max_element(in.begin(), in.end()));
}

/// Links side by side carry what their bandwidth allows.
void add_load(std::unordered_map<LinkId, double>& load, const Fabric& fabric, std::span<const LinkId> bundle,
              double share) {
  if (bundle.size() == 1) {
    load[bundle.front()] += share;
    return;
  }
  BytesPerSecond whole;
  for (const LinkId link : bundle) {
    whole += fabric.links()[link].bandwidth;
  }
  for (const LinkId link : bundle) {
    load[link] += share * (fabric.links()[link].bandwidth / whole);
  }
}

}  // namespace

RoutedTraffic route_traffic(const Fabric& fabric, const NvLinks& nvlinks, std::span<const VertexId> members,
                            const GroupLayout& layout, const std::vector<ChannelEdge>& edges) {
  // Sorted, so that sums do not depend on the order in which an algorithm lists its edges.
  const std::vector<ChannelEdge> traffic = sorted(edges, layout.members());
  RoutedTraffic result;
  merge_channels(traffic, result.edges);
  result.busiest_member = busiest(result.edges, layout.members());

  std::unordered_map<LinkId, double> load;
  for (const ChannelEdge& edge : traffic) {
    const auto src = static_cast<std::size_t>(edge.src);
    const auto dst = static_cast<std::size_t>(edge.dst);
    const Route route = comm_route(fabric, nvlinks, members[src], members[dst], edge.channel);
    Hop& hop = layout.node_of[src] == layout.node_of[dst] ? result.within_nodes : result.between_nodes;
    hop.kind = std::max(hop.kind, class_of(fabric, route));
    if (is_read_from_host_memory(fabric, nvlinks, members[src], members[dst])) {
      hop.kind = std::max(hop.kind, HopClass::HostMemory);
      const VertexId socket = fabric.host_memory_of(members[dst]);
      for (const LinkId& link : fabric.route(members[dst], socket, edge.channel).links) {
        add_load(load, fabric, nvlinks.bundle_of(link), kReadRequest * edge.share);
      }
    }
    hop.latency = std::max(hop.latency, route.latency);
    for (const LinkId& link : route.links) {
      add_load(load, fabric, nvlinks.bundle_of(link), edge.share);
    }
  }
  for (const auto& [link, share] : load) {
    result.loads.push_back({link, share});
  }
  std::ranges::sort(result.loads, {}, &LinkLoad::link);
  return result;
}

}  // namespace lockstep
