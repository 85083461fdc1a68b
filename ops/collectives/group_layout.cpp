#include "ops/collectives/group_layout.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <stdexcept>
#include <tuple>
#include <unordered_map>

#include "ops/collectives/ring_search.hpp"

namespace lockstep {
namespace {

using Order = std::vector<int>;

/// What the fabric says about the members, looked up once.
class Site {
 public:
  Site(const Fabric& fabric, const NvLinks& nvlinks, std::span<const VertexId> members)
      : fabric_{fabric}, members_{members} {
    for (std::size_t position = 0; position < members.size(); ++position) {
      position_of_[members[position]] = static_cast<int>(position);
    }
    for (const VertexId member : members) {
      for (const LinkId link : nvlinks.leaving(member)) {
        read_nvlink(fabric.links()[link]);
      }
    }
  }

  [[nodiscard]] bool all_switched(const Order& node) const {
    return std::ranges::all_of(node, [this](int member) { return switched_.contains(member); });
  }
  [[nodiscard]] bool all_switched(const std::vector<Order>& nodes) const {
    return std::ranges::all_of(nodes, [this](const Order& node) { return all_switched(node); });
  }

  /// Bandwidth of direct NVLinks from a to b.
  [[nodiscard]] BytesPerSecond direct(int a, int b) const {
    const auto found = direct_.find({a, b});
    return found == direct_.end() ? BytesPerSecond{0} : found->second;
  }

  [[nodiscard]] Route route(int a, int b) const { return fabric_.route(vertex(a), vertex(b)); }

  /// The NIC by which @p member reaches @p other of another node: its vertex, or the GPU itself without one.
  [[nodiscard]] VertexId nic(int member, int other) const {
    for (const LinkId link : route(member, other).links) {
      const VertexId to = fabric_.links()[link].to;
      if (fabric_.vertices()[to].kind == VertexKind::Nic) {
        return to;
      }
    }
    return vertex(member);
  }

 private:
  [[nodiscard]] VertexId vertex(int position) const { return members_[static_cast<std::size_t>(position)]; }

  void read_nvlink(const Link& link) {
    const int from = position_of_.at(link.from);
    if (fabric_.vertices()[link.to].kind == VertexKind::NvSwitch) {
      switched_.insert(from);
    } else if (const auto to = position_of_.find(link.to); to != position_of_.end()) {
      direct_[{from, to->second}] += link.bandwidth;
    }
  }

  const Fabric& fabric_;
  std::span<const VertexId> members_;
  std::unordered_map<VertexId, int> position_of_;
  std::set<int> switched_;
  std::map<std::pair<int, int>, BytesPerSecond> direct_;
};

/// Direct links between the members of a node, in units of the thinnest.
LinkCounts count_links(const Site& site, const Order& node) {
  BytesPerSecond unit{std::numeric_limits<double>::infinity()};
  for (const int a : node) {
    for (const int b : node) {
      if (const BytesPerSecond bandwidth = site.direct(a, b); bandwidth > BytesPerSecond{0}) {
        unit = std::min(unit, bandwidth);
      }
    }
  }
  LinkCounts counts(node.size(), std::vector<int>(node.size(), 0));
  for (std::size_t a = 0; a < node.size(); ++a) {
    for (std::size_t b = 0; b < node.size(); ++b) {
      // A ring and its reverse use both directions: the thinner one counts.
      const BytesPerSecond both = std::min(site.direct(node[a], node[b]), site.direct(node[b], node[a]));
      counts[a][b] = static_cast<int>(std::floor(both / unit + 1e-6));
    }
  }
  return counts;
}

/// From the first member always to the nearest one left: NVLink first, then the shortest way, then by place.
Order nearest_neighbour_order(const Site& site, const Order& node) {
  Order order{node.front()};
  Order left{node.begin() + 1, node.end()};
  while (!left.empty()) {
    const auto distance = [&](int to) {
      const Route route = site.route(order.back(), to);
      return std::tuple{-site.direct(order.back(), to).in_base_units(), route.latency, route.links.size()};
    };
    const auto nearest =
        std::min_element(left.begin(), left.end(), [&](int a, int b) { return distance(a) < distance(b); });
    order.push_back(*nearest);
    left.erase(nearest);
  }
  return order;
}

/// Rings over the links, halved when pairs are all alike and whole ones would leave some idle (NCCL's search
/// likewise ends with twice the channels at half the speed): four GPUs in a clique have three links each, of
/// which whole rings use two.
std::vector<Order> rings_over(const LinkCounts& counts) {
  std::vector<Order> rings = find_rings(counts);
  LinkCounts halves = counts;
  bool is_clique = true;
  for (std::size_t a = 0; a < counts.size(); ++a) {
    for (std::size_t b = 0; b < counts.size(); ++b) {
      halves[a][b] *= 2;
      is_clique = is_clique && (a == b || counts[a][b] == 1);
    }
  }
  if (is_clique && counts.size() > 2 && rings.size() + 1 < counts.size()) {
    std::vector<Order> narrow = find_rings(halves);
    return narrow.size() > 2 * rings.size() ? narrow : rings;
  }
  return rings;
}

/// The rings through the members of one node, as positions in the group.
std::vector<Order> rings_of_node(const Site& site, const Order& node,
                                 std::map<LinkCounts, std::vector<Order>>& known) {
  if (node.size() == 1 || site.all_switched(node)) {
    return {node};
  }
  const LinkCounts counts = count_links(site, node);
  auto [entry, is_new] = known.try_emplace(counts);
  if (is_new) {
    entry->second = rings_over(counts);
  }
  if (entry->second.empty()) {
    return {nearest_neighbour_order(site, node)};
  }
  std::vector<Order> rings = entry->second;
  for (Order& ring : rings) {
    for (int& member : ring) {
      member = node[static_cast<std::size_t>(member)];
    }
  }
  return rings;
}

/// One node of a group that spans several: its rings, and a member at each of its NICs.
struct NodePorts {
  std::vector<Order> rings;
  std::vector<int> ports;
};

std::vector<int> members_at_nics(const Site& site, const Order& node, int other) {
  std::map<VertexId, int> first_at;
  for (const int member : node) {
    first_at.try_emplace(site.nic(member, other), member);
  }
  std::vector<int> ports;
  for (const auto& [nic, member] : first_at) {
    ports.push_back(member);
  }
  return ports;
}

/// Channel c enters node 0 at its c-th NIC. Odd nodes run the other way: they are entered at the rail by
/// which their predecessor is left.
Order channel_ring(const std::vector<NodePorts>& nodes, std::size_t channel) {
  Order ring;
  for (std::size_t node = 0; node < nodes.size(); ++node) {
    const NodePorts& here = nodes[node];
    Order order = here.rings[channel % here.rings.size()];
    const int entry = here.ports[channel % here.ports.size()];
    std::rotate(order.begin(), std::find(order.begin(), order.end(), entry), order.end());
    if (node % 2 == 1) {
      std::reverse(order.begin(), order.end());
    }
    ring.insert(ring.end(), order.begin(), order.end());
  }
  return ring;
}

void group_by_node(const Fabric& fabric, std::span<const VertexId> members, GroupLayout& layout) {
  std::unordered_map<int, int> index_of;
  std::set<VertexId> seen;
  for (std::size_t position = 0; position < members.size(); ++position) {
    const VertexId member = members[position];
    if (member >= fabric.vertices().size() || fabric.vertices()[member].kind != VertexKind::Gpu) {
      throw std::invalid_argument("lay_out: member " + std::to_string(position) +
                                  " of the group is not a GPU");
    }
    if (!seen.insert(member).second) {
      throw std::invalid_argument("lay_out: " + fabric.vertices()[member].name + " is twice in the group");
    }
    const auto next = static_cast<int>(layout.nodes.size());
    const auto [entry, is_new] = index_of.try_emplace(fabric.vertices()[member].node, next);
    if (is_new) {
      layout.nodes.emplace_back();
    }
    layout.nodes[static_cast<std::size_t>(entry->second)].push_back(static_cast<int>(position));
    layout.node_of.push_back(entry->second);
  }
}

}  // namespace

GroupLayout uniform_layout(int members, int per_node) {
  if (members < 1 || per_node < 1) {
    throw std::invalid_argument("uniform_layout: needs at least one member, and one a node");
  }
  GroupLayout layout;
  layout.rings.emplace_back();
  for (int member = 0; member < members; ++member) {
    if (member % per_node == 0) {
      layout.nodes.emplace_back();
    }
    layout.nodes.back().push_back(member);
    layout.node_of.push_back(member / per_node);
    layout.rings.front().push_back(member);
  }
  return layout;
}

GroupLayout lay_out(const Fabric& fabric, const NvLinks& nvlinks, std::span<const VertexId> members) {
  if (members.empty()) {
    throw std::invalid_argument("lay_out: a group has at least one member");
  }
  GroupLayout layout;
  group_by_node(fabric, members, layout);
  const Site site{fabric, nvlinks, members};
  layout.switched = site.all_switched(layout.nodes);
  std::map<LinkCounts, std::vector<Order>> known;
  if (layout.nodes.size() == 1) {
    layout.rings = rings_of_node(site, layout.nodes.front(), known);
    return layout;
  }
  std::vector<NodePorts> nodes;
  std::size_t channels = 1;
  for (std::size_t node = 0; node < layout.nodes.size(); ++node) {
    const int other = layout.nodes[node == 0 ? 1 : 0].front();
    nodes.push_back(
        {rings_of_node(site, layout.nodes[node], known), members_at_nics(site, layout.nodes[node], other)});
    channels = std::max({channels, nodes.back().rings.size(), nodes.back().ports.size()});
  }
  for (std::size_t channel = 0; channel < channels; ++channel) {
    layout.rings.push_back(channel_ring(nodes, channel));
  }
  return layout;
}

}  // namespace lockstep
