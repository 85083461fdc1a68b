#include "ops/collectives/node_rings.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>
#include <tuple>
#include <unordered_map>
#include <utility>

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

/// Goes from the first member of a node always to the nearest one left: by NVLink, then the shortest way,
/// then place. Members that are alike are equally far: only the first one left of each class is looked at.
class NearestNeighbours {
 public:
  NearestNeighbours(const GroupSite& site, const Order& node) : site_{site}, node_{node} {
    constexpr std::size_t kFew = 32;  // that are quicker compared than told apart
    classes_.resize(node.size());
    std::iota(classes_.begin(), classes_.end(), 0U);
    if (node.size() > kFew) {
      classes_ = site.classes(node);
    }
    left_.resize(*std::ranges::max_element(classes_) + 1U);
    for (std::size_t place = node.size(); place-- > 0;) {
      left_[classes_[place]].push_back(place);
    }
  }

  Order order() && {
    Order order;
    for (std::size_t here = 0; order.size() < node_.size(); here = nearest_to(here)) {
      left_[classes_[here]].pop_back();
      order.push_back(node_[here]);
      if (order.size() == node_.size()) {
        break;
      }
    }
    return order;
  }

 private:
  /// Negative bandwidth of direct links, then GroupSite::distance().
  using Distance = std::tuple<double, std::tuple<bool, Seconds, std::size_t>>;

  /// The place of the nearest member that is left, for there is one.
  std::size_t nearest_to(std::size_t here) {
    const std::vector<Distance>& distances = distances_from(here);
    std::optional<std::size_t> nearest;
    for (std::size_t kind = 0; kind < left_.size(); ++kind) {
      if (left_[kind].empty()) {
        continue;
      }
      const auto is_nearer = [&](std::size_t than) {
        return std::tuple{distances[kind], left_[kind].back()} < std::tuple{distances[classes_[than]], than};
      };
      if (!nearest || is_nearer(*nearest)) {
        nearest = left_[kind].back();
      }
    }
    return nearest.value();
  }

  /// The distances from a member to each class of which some are left.
  const std::vector<Distance>& distances_from(std::size_t here) {
    auto [entry, is_new] = distances_.try_emplace(classes_[here]);
    if (is_new) {
      entry->second.resize(left_.size());
      for (std::size_t kind = 0; kind < left_.size(); ++kind) {
        if (!left_[kind].empty()) {
          const int from = node_[here], to = node_[left_[kind].back()];
          entry->second[kind] = {-site_.direct(from, to).in_base_units(), site_.distance(from, to)};
        }
      }
    }
    if (left_[classes_[here]].empty()) {  // nobody of the class asks again
      last_ = std::move(entry->second);
      distances_.erase(entry);
      return last_;
    }
    return entry->second;
  }

  const GroupSite& site_;
  const Order& node_;
  std::vector<std::uint32_t> classes_;          // by place in the node
  std::vector<std::vector<std::size_t>> left_;  // places by class, the first one last
  std::unordered_map<std::uint32_t, std::vector<Distance>> distances_;
  std::vector<Distance> last_;
};

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
  if (!site.has_direct(node)) {
    return {NearestNeighbours{site, node}.order()};
  }
  const LinkCounts counts = count_links(site, node);
  auto [entry, is_new] = known.try_emplace(counts);
  if (is_new) {
    entry->second = rings_over(counts);
  }
  if (entry->second.empty()) {
    return {NearestNeighbours{site, node}.order()};
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
