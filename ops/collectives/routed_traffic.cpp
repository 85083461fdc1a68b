#include "ops/collectives/routed_traffic.hpp"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <tuple>
#include <utility>

namespace lockstep {
namespace {

/// The places of @p traffic in the order of sender, receiver and channel. Large groups have millions of
/// edges, but a sender only has a few: they are dealt to their senders first.
std::vector<std::uint32_t> order_of(const std::vector<ChannelEdge>& traffic, int members) {
  std::vector<std::uint32_t> first(static_cast<std::size_t>(members) + 1, 0);
  for (const ChannelEdge& edge : traffic) {
    ++first[static_cast<std::size_t>(edge.src) + 1];
  }
  std::partial_sum(first.begin(), first.end(), first.begin());
  std::vector<std::uint32_t> dealt(traffic.size());
  std::vector<std::uint32_t> next{first.begin(), first.end() - 1};
  for (std::uint32_t place = 0; place < traffic.size(); ++place) {
    dealt[next[static_cast<std::size_t>(traffic[place].src)]++] = place;
  }
  for (std::size_t src = 0; src + 1 < first.size(); ++src) {
    std::sort(
        dealt.begin() + first[src], dealt.begin() + first[src + 1], [&](std::uint32_t a, std::uint32_t b) {
          return std::tie(traffic[a].dst, traffic[a].channel) < std::tie(traffic[b].dst, traffic[b].channel);
        });
  }
  return dealt;
}

bool is_same_pair(const ChannelEdge& a, const ChannelEdge& b) {
  return a.src == b.src && a.dst == b.dst;
}

std::vector<CommEdge> merged_channels(const std::vector<ChannelEdge>& traffic,
                                      const std::vector<std::uint32_t>& order) {
  std::size_t pairs = order.empty() ? 0 : 1;
  for (std::size_t i = 1; i < order.size(); ++i) {
    pairs += is_same_pair(traffic[order[i - 1]], traffic[order[i]]) ? 0 : 1;
  }
  std::vector<CommEdge> edges;
  edges.reserve(pairs);
  for (const std::uint32_t place : order) {
    const ChannelEdge& edge = traffic[place];
    if (!edges.empty() && edges.back().src == edge.src && edges.back().dst == edge.dst) {
      edges.back().share += edge.share;
    } else {
      edges.push_back({edge.src, edge.dst, edge.share});
    }
  }
  return edges;
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
    loads.reserve(static_cast<std::size_t>(std::ranges::count(is_loaded_, true)));
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

}  // namespace

bool RoutedTraffic::crosses_network() const {
  return std::ranges::any_of(classes, [](const LoadClass& its) { return its.kind == LinkKind::Network; });
}

RoutedTraffic route_traffic(PairWays& ways, const Fabric& fabric, std::span<const VertexId> members,
                            const GroupLayout& layout, const std::vector<ChannelEdge>& traffic) {
  // In an order of its own, so that sums do not depend on that in which an algorithm lists its edges.
  const std::vector<std::uint32_t> order = order_of(traffic, layout.members());
  RoutedTraffic result;
  result.edges = merged_channels(traffic, order);
  result.busiest_member = busiest(result.edges, layout.members());
  result.busiest_sender = busiest_between_nodes(result.edges, layout);

  LinkSums load{fabric.links().size()};
  const ChannelEdge* before = nullptr;
  const PairWay* way = nullptr;
  for (const std::uint32_t place : order) {
    const ChannelEdge& edge = traffic[place];
    const auto src = static_cast<std::size_t>(edge.src);
    const auto dst = static_cast<std::size_t>(edge.dst);
    const bool is_next_channel = before != nullptr && is_same_pair(*before, edge);
    if (!is_next_channel || way->is_hashed) {  // channels of one pair may go different ways
      way = &ways.between(members[src], members[dst], edge.channel);
    }
    before = &edge;
    Hop& hop = layout.node_of[src] == layout.node_of[dst] ? result.within_nodes : result.between_nodes;
    hop.kind = std::max(hop.kind, way->kind);
    hop.latency = std::max(hop.latency, way->latency);
    for (const PairLoad& here : way->loads) {
      load.add(here.link, here.requests * edge.share * here.part);
    }
  }
  result.loads = std::move(load).loads();
  result.classes = classes_of(result.loads, fabric);
  result.enters_cpu = enters_cpu(result.loads, fabric);
  return result;
}

}  // namespace lockstep
