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
  int nodes = 0;  ///< which group of nodes it is below
};

bool has_spines(const NetworkSpec& network) {
  return network.shape == NetworkShape::RailOptimised || network.shape == NetworkShape::LeafSpine;
}

/// Nodes below a leaf; 0: all.
int nodes_of_leaf(const NetworkSpec& network) {
  const int usual = has_spines(network)                      ? 0
                    : network.shape == NetworkShape::FatTree ? network.nodes_per_pod
                                                             : 1;
  return network.nodes_per_leaf == 0 ? usual : network.nodes_per_leaf;
}

/// The leaf that a port belongs to: groups of nodes first, rails second.
std::pair<int, int> leaf_of(const NetworkSpec& network, const Port& port) {
  const int nodes = nodes_of_leaf(network);
  const bool has_rails = network.shape == NetworkShape::RailOptimised || network.rails;
  return {nodes == 0 ? 0 : port.node / nodes, has_rails ? port.rail : 0};
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

/// A switch above others, and the bandwidth of its links to them.
struct Spine {
  VertexId vertex = 0;
  BytesPerSecond below;
};

/// Joins the spines of all pods: spine i of each to its own share of the cores, or all to the only core.
void draw_cores(const NetworkSpec& network, const std::vector<VertexId>& cores,
                const std::vector<std::vector<Spine>>& pods, Drawing& drawing) {
  const std::size_t of_spine =
      cores.size() == 1 ? 1 : cores.size() / static_cast<std::size_t>(network.spines);
  for (const std::vector<Spine>& pod : pods) {
    for (std::size_t i = 0; i < pod.size(); ++i) {
      const std::size_t first = cores.size() == 1 ? 0 : i * of_spine;
      for (std::size_t core = first; core < first + of_spine; ++core) {
        drawing.connect(
            pod[i].vertex, cores[core],
            {LinkKind::Network, pod[i].below / (network.pod_oversubscription * static_cast<double>(of_spine)),
             network.uplink_latency});
      }
    }
  }
}

/// Three tiers (Al-Fares, Loukissas, Vahdat, "A scalable, commodity data center network architecture",
/// SIGCOMM 2008, sec. 3): each leaf of a pod has a link to each of the pod's spines. One pod needs no cores.
void draw_fat_tree(const NetworkSpec& network, std::vector<Leaf>& leaves, Drawing& drawing) {
  const int leaf_groups = network.nodes_per_pod / nodes_of_leaf(network);
  const int pods = leaves.back().nodes / leaf_groups + 1;
  const double cables = static_cast<double>(leaves.size()) * network.spines +
                        static_cast<double>(pods) * std::max(network.spines, network.cores);
  if (cables > kMostDrawn) {
    throw FieldError{"network", fmt::format("{} pods with {} spines and {} cores need more than {} cables",
                                            pods, network.spines, network.cores, kMostDrawn)};
  }
  std::vector<VertexId> cores;
  for (int i = 0; i < (pods > 1 ? network.cores : 0); ++i) {
    cores.push_back(drawing.add({VertexKind::CoreSwitch, -1, i, "core" + std::to_string(i), ""}));
  }
  std::vector<std::vector<Spine>> spines(static_cast<std::size_t>(pods));
  for (int i = 0; i < pods * network.spines; ++i) {
    spines[static_cast<std::size_t>(i / network.spines)].push_back(
        {drawing.add({VertexKind::SpineSwitch, -1, i, "spine" + std::to_string(i), ""}), {}});
  }
  add_switches(leaves, drawing);
  for (const Leaf& leaf : leaves) {
    const BytesPerSecond width = leaf.below / (network.oversubscription * network.spines);
    for (Spine& spine : spines[static_cast<std::size_t>(leaf.nodes / leaf_groups)]) {
      spine.below += width;
      drawing.connect(leaf.vertex, spine.vertex, {LinkKind::Network, width, network.uplink_latency});
    }
  }
  if (!cores.empty()) {
    draw_cores(network, cores, spines, drawing);
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
    leaves.push_back({0, {}, leaf.first});
  }
  for (const Port& port : ports) {
    leaves[number.at(leaf_of(network, port))].below += port.wire.bandwidth;
  }
  if (has_spines(network)) {
    draw_under_spines(network, leaves, drawing);
  } else if (network.shape == NetworkShape::FatTree) {
    draw_fat_tree(network, leaves, drawing);
  } else {
    draw_joined(network, leaves, drawing);
  }
  for (const Port& port : ports) {
    drawing.connect(port.nic, leaves[number.at(leaf_of(network, port))].vertex, port.wire);
  }
}

}  // namespace lockstep
