#include "ops/collectives/node_rings.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>

namespace lockstep {
namespace {

/// Direct links between the members of a node, in units of the thinnest.
LinkCounts count_links(const GroupSite& site, const Order& node) {
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

/// Goes from the first member always to the nearest one left: by NVLink, then the shortest way, then place.
Order nearest_neighbour_order(const GroupSite& site, const Order& node) {
  Order order{node.front()};
  Order left{node.begin() + 1, node.end()};
  while (!left.empty()) {
    const auto distance = [&](int to) {
      return std::tuple{-site.direct(order.back(), to).in_base_units(), site.distance(order.back(), to)};
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

}  // namespace

std::vector<Order> rings_of_node(const GroupSite& site, const Order& node,
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

}  // namespace lockstep
