#include "ops/collectives/routed_traffic.hpp"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <tuple>
#include <utility>

#include "ops/collectives/comm_route.hpp"
#include "topology/ecmp.hpp"

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

/// Sorts by sender, receiver and channel. Large groups have a hundred thousand edges, but a sender only has a
/// few: they are dealt to their senders first.
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

double busiest_between_nodes(const std::vector<CommEdge>& edges, const GroupLayout& layout) {
  std::vector<double> sent(layout.node_of.size(), 0.0);
  for (const CommEdge& edge : edges) {
    const auto src = static_cast<std::size_t>(edge.src);
    if (layout.node_of[src] != layout.node_of[static_cast<std::size_t>(edge.dst)]) {
      sent[src] += edge.share;
    }
  }
  return *std::ranges::max_element(sent);
}

/// Each once, unless many others stand between two of a class.
std::vector<LoadClass> classes_of(const std::vector<LinkLoad>& loads, const Fabric& fabric) {
  constexpr std::ptrdiff_t kLatest = 16;
  std::vector<LoadClass> classes;
  for (const LinkLoad& load : loads) {
    const Link& link = fabric.links()[load.link];
    const LoadClass its{link.kind, link.bandwidth, load.share};
    const auto latest = classes.end() - std::min(kLatest, std::ssize(classes));
    if (std::find(latest, classes.end(), its) == classes.end()) {
      classes.push_back(its);
    }
  }
  return classes;
}

bool enters_cpu(const std::vector<LinkLoad>& loads, const Fabric& fabric) {
  return std::ranges::any_of(loads, [&](const LinkLoad& load) {
    const Link& link = fabric.links()[load.link];
    return link.kind == LinkKind::Pcie && fabric.vertices()[link.to].kind == VertexKind::CpuSocket &&
           fabric.vertices()[link.from].kind != VertexKind::Nic;
  });
}

/// Shares summed by link, each link's in the order in which they come. They are kept one by one until a table
/// of all links is worth its memory.
class LinkSums {
 public:
  explicit LinkSums(std::size_t links) : links_{links} {}

  void add(LinkId link, double share) {
    if (!sums_.empty()) {
      add_to_table(link, share);
      return;
    }
    shares_.push_back({link, share});
    constexpr std::size_t kLinksAShare = 8;
    if (shares_.size() * kLinksAShare > links_) {
      tabulate();
    }
  }

  /// Indexed by link.
  [[nodiscard]] std::vector<LinkLoad> loads() && {
    std::vector<LinkLoad> loads;
    if (sums_.empty()) {
      std::ranges::stable_sort(shares_, {}, &LinkLoad::link);
      for (const LinkLoad& share : shares_) {
        if (loads.empty() || loads.back().link != share.link) {
          loads.push_back({share.link, 0.0});
        }
        loads.back().share += share.share;
      }
      return loads;
    }
    for (LinkId link = 0; link < sums_.size(); ++link) {
      if (is_loaded_[link]) {
        loads.push_back({link, sums_[link]});
      }
    }
    return loads;
  }

 private:
  void add_to_table(LinkId link, double share) {
    sums_[link] += share;
    is_loaded_[link] = true;
  }

  void tabulate() {
    sums_.assign(links_, 0.0);
    is_loaded_.assign(links_, false);
    for (const LinkLoad& share : shares_) {
      add_to_table(share.link, share.share);
    }
    shares_ = {};
  }

  std::size_t links_;
  std::vector<LinkLoad> shares_;
  std::vector<double> sums_;  // by link; empty: not yet
  std::vector<bool> is_loaded_;
};

/// Links side by side carry what their bandwidth allows.
void add_load(LinkSums& load, const Fabric& fabric, std::span<const LinkId> bundle, double share) {
  if (bundle.size() == 1) {
    load.add(bundle.front(), share);
    return;
  }
  BytesPerSecond whole;
  for (const LinkId link : bundle) {
    whole += fabric.links()[link].bandwidth;
  }
  for (const LinkId link : bundle) {
    load.add(link, share * (fabric.links()[link].bandwidth / whole));
  }
}

}  // namespace

bool RoutedTraffic::crosses_network() const {
  return std::ranges::any_of(classes, [](const LoadClass& its) { return its.kind == LinkKind::Network; });
}

RoutedTraffic route_traffic(const Fabric& fabric, const NvLinks& nvlinks, std::span<const VertexId> members,
                            const GroupLayout& layout, const std::vector<ChannelEdge>& edges) {
  // Sorted, so that sums do not depend on the order in which an algorithm lists its edges.
  const std::vector<ChannelEdge> traffic = sorted(edges, layout.members());
  RoutedTraffic result;
  merge_channels(traffic, result.edges);
  result.busiest_member = busiest(result.edges, layout.members());
  result.busiest_sender = busiest_between_nodes(result.edges, layout);

  LinkSums load{fabric.links().size()};
  const ChannelEdge* before = nullptr;
  Route route;
  bool is_read = false;
  bool is_hashed = false;  // channels of one pair may go different ways
  for (const ChannelEdge& edge : traffic) {
    const auto src = static_cast<std::size_t>(edge.src);
    const auto dst = static_cast<std::size_t>(edge.dst);
    const bool is_next_channel = before != nullptr && before->src == edge.src && before->dst == edge.dst;
    if (!is_next_channel || is_hashed) {
      const std::uint64_t choices = hashed_choices();
      route = comm_route(fabric, nvlinks, members[src], members[dst], edge.channel);
      is_hashed = hashed_choices() != choices;
    }
    Hop& hop = layout.node_of[src] == layout.node_of[dst] ? result.within_nodes : result.between_nodes;
    hop.kind = std::max(hop.kind, class_of(fabric, route));
    if (!is_next_channel) {
      is_read = is_read_from_host_memory(fabric, nvlinks, members[src], members[dst]);
    }
    before = &edge;
    if (is_read) {
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
  result.loads = std::move(load).loads();
  result.classes = classes_of(result.loads, fabric);
  result.enters_cpu = enters_cpu(result.loads, fabric);
  return result;
}

}  // namespace lockstep
