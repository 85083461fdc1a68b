#include "ops/collectives/hierarchical.hpp"

#include <algorithm>

namespace lockstep {
namespace {

/// The places of the layout: k nodes with m members each, and each node's order on each channel.
class Grid {
 public:
  explicit Grid(const GroupLayout& layout) : layout_{layout} {
    for (const std::vector<int>& ring : layout.rings) {
      orders_.emplace_back(layout.nodes.size());
      for (const int member : ring) {
        orders_.back()[static_cast<std::size_t>(layout.node_of[static_cast<std::size_t>(member)])].push_back(
            member);
      }
    }
  }

  [[nodiscard]] int nodes() const { return static_cast<int>(layout_.nodes.size()); }
  [[nodiscard]] int per_node() const { return static_cast<int>(layout_.nodes.front().size()); }
  [[nodiscard]] int channels() const { return layout_.channels(); }
  [[nodiscard]] int at(int node, int place) const {
    return layout_.nodes[static_cast<std::size_t>(node)][static_cast<std::size_t>(place)];
  }
  [[nodiscard]] const std::vector<int>& order(int node, int channel) const {
    return orders_[static_cast<std::size_t>(channel)][static_cast<std::size_t>(node)];
  }
  /// The members of all nodes at @p place.
  [[nodiscard]] std::vector<int> rail(int place) const {
    std::vector<int> members;
    for (int node = 0; node < nodes(); ++node) {
      members.push_back(at(node, place));
    }
    return members;
  }
  [[nodiscard]] int place_of(int member) const {
    const std::vector<int>& node =
        layout_.nodes[static_cast<std::size_t>(layout_.node_of[static_cast<std::size_t>(member)])];
    return static_cast<int>(std::find(node.begin(), node.end(), member) - node.begin());
  }

 private:
  const GroupLayout& layout_;
  std::vector<std::vector<std::vector<int>>> orders_;  // [channel][node] -> members
};

std::string_view objection(const CollectiveRequest& request, const GroupLayout& layout) {
  for (const std::vector<int>& node : layout.nodes) {
    if (node.size() != layout.nodes.front().size()) {
      return "hierarchical needs equally many members on every node";
    }
  }
  switch (request.kind) {
    case CollectiveKind::AllReduce:
    case CollectiveKind::ReduceScatter:
    case CollectiveKind::AllGather:
      return {};
    case CollectiveKind::AllToAll:
      return request.bytes.empty() ? std::string_view{} : "hierarchical all-to-all needs even splits";
    default:
      return "hierarchical serves all-reduce, reduce-scatter, all-gather and all-to-all";
  }
}

void append_ring(std::vector<ChannelEdge>& edges, const std::vector<int>& order, double share,
                 std::uint32_t channel) {
  for (std::size_t i = 0; i < order.size() && order.size() > 1; ++i) {
    edges.push_back({order[i], order[(i + 1) % order.size()], share, channel});
  }
}

void append_pairs(std::vector<ChannelEdge>& edges, const std::vector<int>& members, double share) {
  for (const int s : members) {
    for (const int d : members) {
      if (s != d) {
        edges.push_back({s, d, share, 0});
      }
    }
  }
}

std::vector<ChannelEdge> traffic(const CollectiveRequest& request, const GroupLayout& layout) {
  const Grid grid{layout};
  const double m = grid.per_node();
  const double k = grid.nodes();
  std::vector<ChannelEdge> edges;
  if (request.kind == CollectiveKind::AllToAll) {
    for (const std::vector<int>& node : layout.nodes) {
      append_pairs(edges, node, 1 / m);
    }
    for (int place = 0; place < grid.per_node(); ++place) {
      append_pairs(edges, grid.rail(place), 1 / k);
    }
    return edges;
  }
  const double passes = request.kind == CollectiveKind::AllReduce ? 2 : 1;
  for (int channel = 0; channel < grid.channels(); ++channel) {
    for (int node = 0; node < grid.nodes(); ++node) {
      append_ring(edges, grid.order(node, channel), passes * (m - 1) / m / grid.channels(),
                  static_cast<std::uint32_t>(channel));
    }
  }
  for (int place = 0; place < grid.per_node(); ++place) {
    append_ring(edges, grid.rail(place), passes * (k - 1) / k / m, 0);
  }
  return edges;
}

/// Members in a circle; a piece is at home at its owner's place on it.
struct Circle {
  std::vector<int> members;
  [[nodiscard]] int size() const { return static_cast<int>(members.size()); }
  [[nodiscard]] int at(int i) const {
    const int n = size();
    return members[static_cast<std::size_t>(((i % n) + n) % n)];
  }
};

/// One ring pass. @p carried gives the chunks that are at home with a member of the circle.
template <class Carried>
void append_pass(std::vector<CommStep>& steps, std::size_t first, const Circle& circle, bool reduce,
                 Bytes chunk, Carried carried) {
  for (int s = 0; s < circle.size() - 1; ++s) {
    for (int i = 0; i < circle.size(); ++i) {
      for (const int piece : carried(circle.at(i - s - (reduce ? 1 : 0)))) {
        steps[first + static_cast<std::size_t>(s)].push_back(
            {circle.at(i), circle.at(i + 1), piece, chunk, reduce});
      }
    }
  }
}

/// A pass inside the nodes: a member is home to the pieces of its whole rail.
void append_inside(std::vector<CommStep>& steps, std::size_t first, const Grid& grid, bool reduce,
                   Bytes chunk) {
  for (int channel = 0; channel < grid.channels(); ++channel) {
    const auto carried = [&](int member) {
      std::vector<int> pieces;
      for (const int owner : grid.rail(grid.place_of(member))) {
        pieces.push_back(owner * grid.channels() + channel);
      }
      return pieces;
    };
    for (int node = 0; node < grid.nodes(); ++node) {
      append_pass(steps, first, Circle{grid.order(node, channel)}, reduce, chunk, carried);
    }
  }
}

/// A pass along the rails: a member is home to its own pieces.
void append_between(std::vector<CommStep>& steps, std::size_t first, const Grid& grid, bool reduce,
                    Bytes chunk) {
  const auto carried = [&](int member) {
    std::vector<int> pieces;
    for (int channel = 0; channel < grid.channels(); ++channel) {
      pieces.push_back(member * grid.channels() + channel);
    }
    return pieces;
  };
  for (int place = 0; place < grid.per_node(); ++place) {
    append_pass(steps, first, Circle{grid.rail(place)}, reduce, chunk, carried);
  }
}

CommSchedule all_to_all(const CollectiveRequest& request, const Grid& grid) {
  const int n = grid.nodes() * grid.per_node();
  const Bytes piece = request.size / n;
  CommSchedule result{n * n, std::vector<CommStep>(2)};
  for (int source = 0; source < n; ++source) {
    for (int target = 0; target < n; ++target) {
      // The relay sits on the source's node and the target's rail.
      int relay = source;
      for (int place = 0; place < grid.per_node(); ++place) {
        for (int node = 0; node < grid.nodes(); ++node) {
          if (grid.at(node, grid.place_of(source)) == source && place == grid.place_of(target)) {
            relay = grid.at(node, place);
          }
        }
      }
      if (relay != source) {
        result.steps[0].push_back({source, relay, source * n + target, piece, false});
      }
      if (relay != target) {
        result.steps[1].push_back({relay, target, source * n + target, piece, false});
      }
    }
  }
  return result;
}

CommSchedule schedule(const CollectiveRequest& request, const GroupLayout& layout) {
  const Grid grid{layout};
  if (request.kind == CollectiveKind::AllToAll) {
    return all_to_all(request, grid);
  }
  const int members = layout.members();
  const Bytes chunk = request.size / (static_cast<double>(members) * grid.channels());
  const auto inside = static_cast<std::size_t>(grid.per_node() - 1);
  const auto between = static_cast<std::size_t>(grid.nodes() - 1);
  CommSchedule result{members * grid.channels(), {}};
  std::size_t next = 0;
  if (request.kind != CollectiveKind::AllGather) {
    result.steps.resize(inside + between);
    append_inside(result.steps, 0, grid, /*reduce=*/true, chunk);
    append_between(result.steps, inside, grid, /*reduce=*/true, chunk);
    next = inside + between;
  }
  if (request.kind != CollectiveKind::ReduceScatter) {
    result.steps.resize(next + inside + between);
    append_between(result.steps, next, grid, /*reduce=*/false, chunk);
    append_inside(result.steps, next + between, grid, /*reduce=*/false, chunk);
  }
  return result;
}

StepCount steps(const CollectiveRequest& request, const GroupLayout& layout) {
  const int inside = static_cast<int>(layout.nodes.front().size()) - 1;
  const int between = static_cast<int>(layout.nodes.size()) - 1;
  if (request.kind == CollectiveKind::AllToAll) {
    return {std::min(inside, 1), std::min(between, 1)};
  }
  const int passes = request.kind == CollectiveKind::AllReduce ? 2 : 1;
  return {passes * inside, passes * between};
}

}  // namespace

const CommAlgorithmRow kHierarchical{
    CommAlgorithm::Hierarchical, "hierarchical", objection, traffic, schedule, steps};

}  // namespace lockstep
