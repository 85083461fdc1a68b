#include "ops/collectives/group_layout.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <stdexcept>
#include <tuple>
#include <unordered_map>

#include "ops/collectives/node_exits.hpp"
#include "ops/collectives/node_rings.hpp"

namespace lockstep {
namespace {

/// One node of a group that spans several.
struct NodePorts {
  std::vector<Order> rings;
  std::map<int, VertexId> nic_of;     // by member
  std::map<int, Seconds> way_to_nic;  // likewise
  bool switched = false;

  [[nodiscard]] std::size_t nics() const {
    std::set<VertexId> distinct;
    for (const auto& [member, nic] : nic_of) {
      distinct.insert(nic);
    }
    return distinct.size();
  }
  /// Some members are farther from their NIC than others.
  [[nodiscard]] bool is_uneven() const {
    return std::ranges::any_of(way_to_nic,
                               [&](const auto& way) { return way.second != way_to_nic.begin()->second; });
  }
};

/// How often the ends of the paths chosen so far meet a NIC and a GPU, and how often each ring was used.
class PathCounts {
 public:
  using Cost = std::tuple<int, int, Seconds, int, int>;

  /// NICs first: the network is the narrow part; then GPUs near them (NCCL's search takes the nearest path
  /// type that reaches the NIC's rate: typeInter, src/graph/search.cc), then the GPUs' ways to them; then the
  /// NVLinks.
  Cost cost(const NodePorts& node, const Order& path, std::size_t ring) {
    const int first = begins_[node.nic_of.at(path.front())];
    const int last = ends_[node.nic_of.at(path.back())];
    return {std::max(first, last), first + last,
            node.way_to_nic.at(path.front()) + node.way_to_nic.at(path.back()),
            uses_[path.front()] + uses_[path.back()], rings_[ring]};
  }
  void add(const NodePorts& node, const Order& path, std::size_t ring) {
    ++begins_[node.nic_of.at(path.front())];
    ++ends_[node.nic_of.at(path.back())];
    ++uses_[path.front()];
    ++uses_[path.back()];
    ++rings_[ring];
  }

 private:
  std::map<VertexId, int> begins_;
  std::map<VertexId, int> ends_;
  std::map<int, int> uses_;
  std::map<std::size_t, int> rings_;
};

/// A way through all members of a node, by which of its rings.
struct Path {
  Order members;
  std::size_t ring = 0;
};

/// Each ring opened at each of its links.
std::vector<Path> opened(const std::vector<Order>& rings) {
  std::vector<Path> paths;
  for (std::size_t ring = 0; ring < rings.size(); ++ring) {
    Order turned = rings[ring];
    for (std::size_t turn = 0; turn < turned.size(); ++turn) {
      paths.push_back({turned, ring});
      std::rotate(turned.begin(), turned.begin() + 1, turned.end());
    }
  }
  return paths;
}

/// Paths from each member to each other one, through the rest in order.
std::vector<Path> between_all(const Order& members) {
  std::vector<Path> paths;
  for (const int first : members) {
    for (const int last : members) {
      if (first == last) {
        continue;
      }
      Path path{{first}, 0};
      std::ranges::copy_if(members, std::back_inserter(path.members),
                           [&](int member) { return member != first && member != last; });
      path.members.push_back(last);
      paths.push_back(std::move(path));
    }
  }
  return paths;
}

/// Paths through the node, one a channel, whose ends are spread best: its rings, opened; behind NVSwitches,
/// which join any two, also others where some members are farther from their NIC.
std::vector<Order> open_rings(const NodePorts& node, std::size_t channels) {
  const std::vector<Path> paths = node.switched && node.is_uneven() && node.nic_of.size() > 1
                                      ? between_all(node.rings.front())
                                      : opened(node.rings);
  PathCounts counts;
  std::vector<Order> chosen;
  while (chosen.size() < channels) {
    const Path& best = *std::ranges::min_element(
        paths, {}, [&](const Path& path) { return counts.cost(node, path.members, path.ring); });
    counts.add(node, best.members, best.ring);
    chosen.push_back(best.members);
  }
  return chosen;
}

/// Channels that use every NIC of the node equally often: the network is the narrow part.
std::size_t channels_of(const NodePorts& node) {
  const std::size_t nics = node.nics();
  return nics * ((node.rings.size() + nics - 1) / nics);
}

/// Rings through all nodes. Odd nodes run the other way: they are entered at the rail by which their
/// predecessor is left. All nodes have as many channels as the one with the fewest (NCCL takes the least
/// nChannels of all ranks, initTransportsRank in src/init.cc): a failed NIC costs everyone a channel.
std::vector<Order> join_nodes(const std::vector<NodePorts>& nodes) {
  std::size_t channels = channels_of(nodes.front());
  for (const NodePorts& node : nodes) {
    channels = std::min(channels, channels_of(node));
  }
  std::vector<Order> joined(channels);
  for (std::size_t node = 0; node < nodes.size(); ++node) {
    const std::vector<Order> paths = open_rings(nodes[node], joined.size());
    for (std::size_t channel = 0; channel < joined.size(); ++channel) {
      if (node % 2 == 0) {
        joined[channel].insert(joined[channel].end(), paths[channel].begin(), paths[channel].end());
      } else {
        joined[channel].insert(joined[channel].end(), paths[channel].rbegin(), paths[channel].rend());
      }
    }
  }
  return joined;
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
    layout.number_of.push_back(fabric.vertices()[member].index);
    layout.at_nic.push_back(-1);
  }
}

/// The member of each NIC's node that is nearest to it: of equally near ones the first in order of position,
/// as NCCL's ncclTopoGetLocalGpu takes the first.
void find_members_at_nics(const Fabric& fabric, std::span<const VertexId> members, const NodePorts& node,
                          NodeExits& exits, GroupLayout& layout) {
  std::map<VertexId, int> nearest;
  const auto way = [&](int member, VertexId nic) {
    return exits.way_to(members[static_cast<std::size_t>(member)], nic);
  };
  for (const auto& [member, nic] : node.nic_of) {
    const auto [entry, is_new] = nearest.try_emplace(nic, member);
    if (!is_new && way(member, nic).latency < way(entry->second, nic).latency) {
      entry->second = member;
    }
  }
  for (const auto& [member, nic] : node.nic_of) {
    const bool has_nic = fabric.vertices()[nic].kind == VertexKind::Nic;
    if (has_nic && !way(nearest.at(nic), nic).crosses_cpu) {
      layout.at_nic[static_cast<std::size_t>(member)] = nearest.at(nic);
    }
  }
}

}  // namespace

int GroupLayout::relay_of(int src, int dst) const {
  const int node = node_of[static_cast<std::size_t>(src)];
  if (node == node_of[static_cast<std::size_t>(dst)]) {
    return src;
  }
  for (const int member : nodes[static_cast<std::size_t>(node)]) {
    const auto here = static_cast<std::size_t>(member);
    if (number_of[here] == number_of[static_cast<std::size_t>(dst)]) {
      return at_nic[here] < 0 ? src : at_nic[here];
    }
  }
  return src;
}

bool GroupLayout::has_relays() const {
  return nodes.size() > 1 && std::ranges::any_of(nodes, [this](const std::vector<int>& node) {
           return node.size() > 1 && std::ranges::any_of(node, [this](int member) {
                    return at_nic[static_cast<std::size_t>(member)] >= 0;
                  });
         });
}

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
    layout.number_of.push_back(member % per_node);
    layout.at_nic.push_back(member);
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
  const GroupSite site{fabric, nvlinks, members};
  layout.switched = site.all_switched(layout.nodes);
  std::map<LinkCounts, std::vector<Order>> known;
  if (layout.nodes.size() == 1) {
    layout.rings = rings_of_node(site, layout.nodes.front(), known);
    return layout;
  }
  NodeExits exits{fabric};
  std::vector<NodePorts> nodes;
  for (std::size_t node = 0; node < layout.nodes.size(); ++node) {
    const VertexId other = members[static_cast<std::size_t>(layout.nodes[node == 0 ? 1 : 0].front())];
    nodes.push_back(
        {rings_of_node(site, layout.nodes[node], known), {}, {}, site.all_switched(layout.nodes[node])});
    for (const int member : layout.nodes[node]) {
      const VertexId gpu = members[static_cast<std::size_t>(member)];
      const VertexId nic = exits.nic_towards(gpu, other).value_or(gpu);
      nodes.back().nic_of[member] = nic;
      nodes.back().way_to_nic[member] = exits.way_to(gpu, nic).latency;
    }
    if (nodes.back().switched) {
      find_members_at_nics(fabric, members, nodes.back(), exits, layout);
    }
  }
  layout.rings = join_nodes(nodes);
  return layout;
}

}  // namespace lockstep
