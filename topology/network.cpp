#include "topology/network.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <stdexcept>
#include <utility>

#include "topology/network_cables.hpp"

namespace lockstep {
namespace {

/// A leaf and what its NICs carry together.
struct Leaf {
  VertexId vertex = 0;
  BytesPerSecond below;
};

bool has_spines(const NetworkSpec& network) {
  return network.shape == NetworkShape::RailOptimised || network.shape == NetworkShape::LeafSpine;
}

/// The leaf that a port belongs to: groups of nodes first, rails second.
std::pair<int, int> leaf_of(const NetworkSpec& network, const Port& port) {
  const int usual = has_spines(network) ? 0 : 1;
  const int nodes = network.nodes_per_leaf == 0 ? usual : network.nodes_per_leaf;
  return {nodes == 0 ? 0 : port.node / nodes, network.shape == NetworkShape::RailOptimised ? port.rail : 0};
}

void add_switches(std::vector<Leaf>& leaves, Drawing& drawing) {
  for (std::size_t i = 0; i < leaves.size(); ++i) {
    leaves[i].vertex =
        drawing.add({VertexKind::LeafSwitch, -1, static_cast<int>(i), "leaf" + std::to_string(i), ""});
  }
}

void draw_under_spines(const NetworkSpec& network, std::vector<Leaf>& leaves, Drawing& drawing) {
  const int spines = leaves.size() > 1 ? network.spines : 0;
  if (network.oversubscription != 1 && spines == 0) {
    throw FieldError{"network",
                     "oversubscription has no effect without uplinks: all nodes share one leaf, or "
                     "spines is 0 (set nodes_per_leaf, spines)"};
  }
  if (static_cast<std::int64_t>(leaves.size()) * spines > kMostDrawn) {
    throw FieldError{"network", fmt::format("{} leaves and {} spines need more than {} cables", leaves.size(),
                                            spines, kMostDrawn)};
  }
  std::vector<VertexId> spine_ids;
  for (int i = 0; i < spines; ++i) {
    spine_ids.push_back(drawing.add({VertexKind::SpineSwitch, -1, i, "spine" + std::to_string(i), ""}));
  }
  add_switches(leaves, drawing);
  for (const Leaf& leaf : leaves) {
    for (const VertexId spine : spine_ids) {
      drawing.connect(
          leaf.vertex, spine,
          {LinkKind::Network, leaf.below / (network.oversubscription * spines), network.uplink_latency});
    }
  }
}

SwitchPairs cables_between(const NetworkSpec& network, int leaves) {
  try {
    if (network.shape == NetworkShape::Dragonfly) {
      return dragonfly_cables(leaves, network.leaves_per_group, network.global_links);
    }
    const double switches =  // of as many as a double can count: they are compared before they are made
        std::accumulate(network.dimensions.begin(), network.dimensions.end(), 1.0, std::multiplies{});
    if (switches > 0 && switches != leaves) {
      throw std::invalid_argument{
          fmt::format("'dimensions' make {:.0f} switches, but the nodes have {} leaves", switches, leaves)};
    }
    return torus_cables(network.dimensions);
  } catch (const std::invalid_argument& problem) {
    throw FieldError{"network", problem.what()};
  }
}

/// A leaf's links share its budget equally; a cable is as wide as the narrower of its ends allows.
void draw_joined(const NetworkSpec& network, std::vector<Leaf>& leaves, Drawing& drawing) {
  add_switches(leaves, drawing);
  const SwitchPairs pairs = cables_between(network, static_cast<int>(leaves.size()));
  std::vector<int> degree(leaves.size(), 0);
  std::map<std::pair<int, int>, int> count;
  for (const auto& [a, b] : pairs) {
    ++degree[static_cast<std::size_t>(a)];
    ++degree[static_cast<std::size_t>(b)];
    ++count[{a, b}];
  }
  const auto width = [&](int leaf) {
    const auto i = static_cast<std::size_t>(leaf);
    return leaves[i].below / (network.oversubscription * degree[i]);
  };
  for (const auto& [pair, cables] : count) {
    const auto& [a, b] = pair;
    drawing.connect(leaves[static_cast<std::size_t>(a)].vertex, leaves[static_cast<std::size_t>(b)].vertex,
                    {LinkKind::Network, std::min(width(a), width(b)) * cables, network.uplink_latency});
  }
}

}  // namespace

void draw_network(const NetworkSpec& network, const std::vector<Port>& ports, Drawing& drawing) {
  std::map<std::pair<int, int>, std::size_t> number;
  std::vector<Leaf> leaves;
  for (const Port& port : ports) {
    number.try_emplace(leaf_of(network, port), 0);
  }
  for (auto& [leaf, index] : number) {
    index = leaves.size();
    leaves.emplace_back();
  }
  for (const Port& port : ports) {
    leaves[number.at(leaf_of(network, port))].below += port.wire.bandwidth;
  }
  if (has_spines(network)) {
    draw_under_spines(network, leaves, drawing);
  } else {
    draw_joined(network, leaves, drawing);
  }
  for (const Port& port : ports) {
    drawing.connect(port.nic, leaves[number.at(leaf_of(network, port))].vertex, port.wire);
  }
}

}  // namespace lockstep
