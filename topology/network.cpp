#include "topology/network.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace lockstep {
namespace {

/// Which leaf a port belongs to: groups of nodes first, rails second.
std::pair<int, int> leaf_of(const NetworkSpec& network, const Port& port) {
  const int group = network.nodes_per_leaf == 0 ? 0 : port.node / network.nodes_per_leaf;
  return {group, network.shape == NetworkShape::RailOptimised ? port.rail : 0};
}

}  // namespace

void draw_network(const NetworkSpec& network, const std::vector<Port>& ports, Drawing& drawing) {
  std::map<std::pair<int, int>, BytesPerSecond> below;  // by leaf: what its NICs carry together
  for (const Port& port : ports) {
    below[leaf_of(network, port)] += port.wire.bandwidth;
  }
  const int spines = below.size() > 1 ? network.spines : 0;
  if (network.oversubscription != 1 && spines == 0) {
    throw FieldError{"network",
                     "oversubscription has no effect without uplinks: all nodes share one leaf, or "
                     "spines is 0 (set nodes_per_leaf, spines)"};
  }
  std::vector<VertexId> spine_ids;
  for (int i = 0; i < spines; ++i) {
    spine_ids.push_back(drawing.add({VertexKind::SpineSwitch, -1, i, "spine" + std::to_string(i), ""}));
  }
  std::map<std::pair<int, int>, VertexId> leaves;
  for (const auto& [leaf, bandwidth] : below) {
    const int index = static_cast<int>(leaves.size());
    leaves[leaf] = drawing.add({VertexKind::LeafSwitch, -1, index, "leaf" + std::to_string(index), ""});
    for (const VertexId spine : spine_ids) {
      drawing.connect(
          leaves[leaf], spine,
          {LinkKind::Network, bandwidth / (network.oversubscription * spines), network.uplink_latency});
    }
  }
  for (const Port& port : ports) {
    drawing.connect(port.nic, leaves[leaf_of(network, port)], port.wire);
  }
}

}  // namespace lockstep
