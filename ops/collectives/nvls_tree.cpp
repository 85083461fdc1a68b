#include "ops/collectives/nvls_tree.hpp"

#include <bit>
#include <stdexcept>

#include "ops/collectives/tree.hpp"

namespace lockstep {
namespace {

/// NCCL to 2.21 src/transport/nvls.cc; with 2.29 two GPUs a node were measured to take rings.
constexpr std::size_t kFewestOfNode = 3;

std::string_view objection(const CollectiveRequest& request, const GroupLayout& layout) {
  if (request.kind != CollectiveKind::AllReduce) {
    return "nvls_tree serves all-reduce only";
  }
  if (layout.nodes.size() < 2 || !layout.switched) {
    return "nvls_tree needs several nodes, and all members behind the NVSwitches of theirs";
  }
  for (const std::vector<int>& node : layout.nodes) {
    if (node.size() < kFewestOfNode || node.size() != layout.nodes.front().size()) {
      return "nvls_tree needs equally many members, three or more, on every node";
    }
  }
  return {};
}

/// Adds what goes through the switches of one node, as nvls counts it.
void append_switched(const std::vector<int>& node, std::vector<ChannelEdge>& edges) {
  const auto m = static_cast<double>(node.size());
  for (const int s : node) {
    for (const int d : node) {
      if (s != d) {
        edges.push_back({s, d, (1 + 1 / m) / (m - 1), 0});
      }
    }
  }
}

std::vector<ChannelEdge> traffic(const CollectiveRequest&, const GroupLayout& layout) {
  std::vector<ChannelEdge> edges;
  for (const std::vector<int>& node : layout.nodes) {
    append_switched(node, edges);
  }
  const auto nodes = static_cast<int>(layout.nodes.size());
  const std::size_t places = layout.nodes.front().size();
  for (const std::vector<int>& parents : {binary_tree(nodes), twin_tree(nodes)}) {
    for (std::size_t node = 0; node < parents.size(); ++node) {
      for (std::size_t place = 0; place < places && parents[node] >= 0; ++place) {
        const int child = layout.nodes[node][place],
                  parent = layout.nodes[static_cast<std::size_t>(parents[node])][place];
        const double share = 0.5 / static_cast<double>(places);
        edges.push_back({child, parent, share, static_cast<std::uint32_t>(place)});
        edges.push_back({parent, child, share, static_cast<std::uint32_t>(place)});
      }
    }
  }
  return edges;
}

CommSchedule schedule(const CollectiveRequest&, const GroupLayout&) {
  throw std::invalid_argument("nvls_tree: switches add and copy; there are no messages between members");
}

/// The switches add on the way up and copy on the way down (aws-ofi-nccl, nccl_ofi_model.cpp).
StepCount steps(const CollectiveRequest&, const GroupLayout& layout) {
  return {2, 2 * static_cast<int>(std::bit_width(layout.nodes.size() - 1))};  // ceil(log2 nodes)
}

}  // namespace

const CommAlgorithmRow kNvlsTree{CommAlgorithm::NvlsTree, "nvls_tree", objection, traffic, schedule, steps};

}  // namespace lockstep
