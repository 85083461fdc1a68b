#include "topology/partition.hpp"

#include <algorithm>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "topology/byte_key.hpp"

namespace lockstep {
namespace {

/// The gates of @p vertex: every port it can use, sorted as NodeShape says.
template <class CostTo>
std::vector<Gate> sorted_gates(const std::vector<std::uint32_t>& ports, const CostTo& cost_to,
                               const std::vector<int>& index) {
  std::vector<Gate> gates;
  for (const auto port : ports) {
    if (const PathCost cost = cost_to(port); cost != kUnreachable) {
      gates.push_back({cost, port});
    }
  }
  std::ranges::sort(gates, {}, [&](const Gate& gate) {
    return std::tuple{gate.cost, index[gate.port], gate.port};
  });
  return gates;
}

}  // namespace

Partition::Partition(std::span<const Vertex> vertices, std::span<const Link> links) {
  place_vertices(vertices);
  sort_links(links);
  find_shapes(vertices, links);
}

void Partition::place_vertices(std::span<const Vertex> vertices) {
  std::unordered_map<int, std::uint32_t> part_of_node{{-1, 0}};
  parts_.resize(1);
  places_.reserve(vertices.size());
  for (VertexId id = 0; id < vertices.size(); ++id) {
    const auto next = static_cast<std::uint32_t>(parts_.size());
    const auto [entry, is_new] = part_of_node.try_emplace(std::max(vertices[id].node, -1), next);
    if (is_new) {
      parts_.emplace_back();
    }
    Part& part = parts_[entry->second];
    places_.push_back({entry->second, static_cast<std::uint32_t>(part.vertices.size())});
    part.vertices.push_back(id);
  }
}

void Partition::sort_links(std::span<const Link> links) {
  leaving_.begin.assign(places_.size() + 1, 0);
  entering_.begin.assign(places_.size() + 1, 0);
  std::vector<LinkId> crossing;
  for (LinkId id = 0; id < links.size(); ++id) {
    const Link& link = links[id];
    if (places_[link.from].part == places_[link.to].part) {
      parts_[places_[link.from].part].links.push_back(id);
    } else {
      crossing.push_back(id);
      ++leaving_.begin[link.from + 1];
      ++entering_.begin[link.to + 1];
    }
  }
  for (LinksByVertex* sorted : {&leaving_, &entering_}) {
    for (std::size_t vertex = 0; vertex < places_.size(); ++vertex) {
      sorted->begin[vertex + 1] += sorted->begin[vertex];
    }
    sorted->links.resize(crossing.size());
  }
  std::vector<std::uint32_t> next_leaving{leaving_.begin};
  std::vector<std::uint32_t> next_entering{entering_.begin};
  for (const LinkId id : crossing) {
    leaving_.links[next_leaving[links[id].from]++] = id;
    entering_.links[next_entering[links[id].to]++] = id;
  }
}

std::vector<Arc> Partition::arcs_of(const Part& part, std::span<const Link> links) const {
  std::vector<Arc> arcs;
  arcs.reserve(part.links.size());
  for (std::uint32_t number = 0; number < part.links.size(); ++number) {
    const Link& link = links[part.links[number]];
    arcs.push_back({places_[link.from].local, places_[link.to].local, number, cost_of_link(link.latency)});
  }
  return arcs;
}

void Partition::find_shapes(std::span<const Vertex> vertices, std::span<const Link> links) {
  std::unordered_map<std::string, std::shared_ptr<const NodeShape>> known;
  for (std::size_t number = 0; number < parts_.size(); ++number) {
    Part& part = parts_[number];
    const std::vector<Arc> arcs = arcs_of(part, links);
    std::string key(1, number == 0 ? 'o' : 'n');
    for (const VertexId id : part.vertices) {
      append_bytes(key, vertices[id].index);
      append_bytes(key, may_forward(vertices[id]));
      append_bytes(key, leaving(id).empty());
      append_bytes(key, entering(id).empty());
    }
    for (const Arc& arc : arcs) {  // field by field: an Arc has padding, whose bytes are anything
      append_bytes(key, arc.from);
      append_bytes(key, arc.to);
      append_bytes(key, arc.link);
      append_bytes(key, arc.cost);
    }
    auto& shape = known[std::move(key)];
    if (!shape) {
      shape = shape_of(part, vertices, arcs);
    }
    part.shape = shape;
  }
}

std::shared_ptr<const NodeShape> Partition::shape_of(const Part& part, std::span<const Vertex> vertices,
                                                     const std::vector<Arc>& arcs) const {
  std::vector<bool> forwards;
  std::vector<int> index;
  std::vector<std::uint32_t> exits;
  std::vector<std::uint32_t> entries;
  for (std::uint32_t local = 0; local < part.vertices.size(); ++local) {
    const VertexId id = part.vertices[local];
    forwards.push_back(may_forward(vertices[id]));
    index.push_back(vertices[id].index);
    if (!leaving(id).empty()) {
      exits.push_back(local);
    }
    if (!entering(id).empty()) {
      entries.push_back(local);
    }
  }
  auto shape = std::make_shared<NodeShape>(forwards, arcs);
  const bool outside_nodes = &part == parts_.data();
  if (parts_.size() == 1) {
    return shape;
  }
  for (std::uint32_t local = 0; local < part.vertices.size(); ++local) {
    if (outside_nodes) {  // already out there: a vertex is its own gate
      shape->exits.push_back({{0, local}});
      shape->entries.push_back({{0, local}});
      continue;
    }
    const auto usable = [&](std::uint32_t port) { return port == local || forwards[port]; };
    shape->exits.push_back(sorted_gates(
        exits, [&](auto port) { return usable(port) ? shape->paths.cost(local, port) : kUnreachable; },
        index));
    shape->entries.push_back(sorted_gates(
        entries, [&](auto port) { return usable(port) ? shape->paths.cost(port, local) : kUnreachable; },
        index));
  }
  return shape;
}

}  // namespace lockstep
