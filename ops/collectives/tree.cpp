#include "ops/collectives/tree.hpp"

#include <algorithm>
#include <bit>

namespace lockstep {
namespace {

std::string_view objection(const CollectiveRequest& request, const GroupLayout&) {
  return request.kind == CollectiveKind::AllReduce ? std::string_view{} : "trees serve all-reduce only";
}

/// Parent of every member in one tree of one channel (-1: the root).
std::vector<int> member_tree(const GroupLayout& layout, const std::vector<int>& ring, int tree) {
  const auto nodes = static_cast<int>(layout.nodes.size());
  const std::vector<int> node_tree = tree == 0 ? binary_tree(nodes) : twin_tree(nodes);
  std::vector<int> head(layout.nodes.size(), -1);
  std::vector<int> tail(layout.nodes.size(), -1);
  std::vector<int> parent(layout.node_of.size(), -1);
  for (const int member : ring) {
    const auto node = static_cast<std::size_t>(layout.node_of[static_cast<std::size_t>(member)]);
    if (head[node] < 0) {
      head[node] = member;
    } else {
      parent[static_cast<std::size_t>(member)] = tail[node];
    }
    tail[node] = member;
  }
  for (std::size_t node = 0; node < head.size(); ++node) {
    const int up = node_tree[node];
    parent[static_cast<std::size_t>(head[node])] = up < 0 ? -1 : head[static_cast<std::size_t>(up)];
  }
  return parent;
}

std::vector<ChannelEdge> traffic(const CollectiveRequest&, const GroupLayout& layout) {
  const double share = 1.0 / (2 * layout.channels());
  std::vector<ChannelEdge> result;
  result.reserve(layout.node_of.size() * layout.rings.size() * 4);
  for (std::uint32_t channel = 0; channel < layout.rings.size(); ++channel) {
    for (const int tree : {0, 1}) {
      const std::vector<int> parents = member_tree(layout, layout.rings[channel], tree);
      for (int member = 0; member < layout.members(); ++member) {
        if (const int parent = parents[static_cast<std::size_t>(member)]; parent >= 0) {
          result.push_back({member, parent, share, channel});
          result.push_back({parent, member, share, channel});
        }
      }
    }
  }
  return result;
}

int depth_of(const std::vector<int>& parents, int member) {
  int depth = 0;
  for (int up = parents[static_cast<std::size_t>(member)]; up >= 0;
       up = parents[static_cast<std::size_t>(up)]) {
    ++depth;
  }
  return depth;
}

/// Sums climb one level a step, deepest first; results descend likewise.
void append_tree(std::vector<CommStep>& steps, const std::vector<int>& parents, int chunk, Bytes size) {
  std::vector<int> depths;
  for (int member = 0; member < static_cast<int>(parents.size()); ++member) {
    depths.push_back(depth_of(parents, member));
  }
  const auto deepest = static_cast<std::size_t>(*std::max_element(depths.begin(), depths.end()));
  steps.resize(std::max(steps.size(), 2 * deepest));
  for (std::size_t member = 0; member < parents.size(); ++member) {
    if (parents[member] < 0) {
      continue;
    }
    const auto depth = static_cast<std::size_t>(depths[member]);
    const int self = static_cast<int>(member);
    steps[deepest - depth].push_back({self, parents[member], chunk, size, /*reduce=*/true});
    steps[deepest + depth - 1].push_back({parents[member], self, chunk, size, /*reduce=*/false});
  }
}

CommSchedule schedule(const CollectiveRequest& request, const GroupLayout& layout) {
  CommSchedule result;
  result.chunks = 2 * layout.channels();
  for (int channel = 0; channel < layout.channels(); ++channel) {
    for (const int tree : {0, 1}) {
      append_tree(result.steps, member_tree(layout, layout.rings[static_cast<std::size_t>(channel)], tree),
                  channel * 2 + tree, request.size / (2.0 * layout.channels()));
    }
  }
  return result;
}

StepCount steps(const CollectiveRequest&, const GroupLayout& layout) {
  std::size_t largest = 1;
  for (const std::vector<int>& node : layout.nodes) {
    largest = std::max(largest, node.size());
  }
  const auto levels = static_cast<int>(std::bit_width(layout.nodes.size() - 1));  // ceil(log2 nodes)
  return {2 * (static_cast<int>(largest) - 1), 2 * levels};
}

}  // namespace

std::vector<int> binary_tree(int n) {
  std::vector<int> parent(static_cast<std::size_t>(n), -1);
  for (int v = 1; v < n; ++v) {
    // In an in-order tree a vertex with lowest set bit b hangs below the multiple of 2b beside it: to the
    // right, or to the left where the right one does not exist.
    const int bit = v & -v;
    const int right = v + bit;
    const int left = v - bit;
    const bool hangs_left_of_right = (right & -right) == 2 * bit && right < n;
    parent[static_cast<std::size_t>(v)] = hangs_left_of_right ? right : left;
  }
  return parent;
}

std::vector<int> twin_tree(int n) {
  const std::vector<int> first = binary_tree(n);
  // Odd vertices are the leaves, so any map that exchanges odd and even makes the twin: reversal when n is
  // even, a shift by one else.
  const auto image = [n](int v) { return v < 0 ? v : n % 2 == 0 ? n - 1 - v : (v + 1) % n; };
  std::vector<int> twin(first.size(), -1);
  for (int v = 0; v < n; ++v) {
    twin[static_cast<std::size_t>(image(v))] = image(first[static_cast<std::size_t>(v)]);
  }
  return twin;
}

const CommAlgorithmRow kTree{CommAlgorithm::Tree, "tree", objection, traffic, schedule, steps};

}  // namespace lockstep
