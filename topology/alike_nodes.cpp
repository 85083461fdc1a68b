#include "topology/alike_nodes.hpp"

#include <algorithm>
#include <string>
#include <unordered_map>

#include "topology/byte_key.hpp"

namespace lockstep {
namespace {

/// Everything of a device that routes, layouts and prices may ask, but its name and node.
void append_device(std::string& key, const Vertex& vertex) {
  append_bytes(key, vertex.kind);
  append_bytes(key, vertex.index);
  append_bytes(key, vertex.forwards);
  append_bytes(key, vertex.memory.in_base_units());
  append_bytes(key, vertex.memory_bandwidth.in_base_units());
  append_bytes(key, vertex.vendor);
  append_bytes(key, vertex.p2p_level);
  append_bytes(key, vertex.nic_read_level);
  append_bytes(key, vertex.nic_write_level);
  key.append(vertex.model).push_back('\0');
}

void append_wire(std::string& key, const Link& link) {
  append_bytes(key, link.kind);
  append_bytes(key, link.bandwidth.in_base_units());
  append_bytes(key, link.latency.in_base_units());
}

}  // namespace

AlikeNodes::AlikeNodes(std::span<const Vertex> vertices, std::span<const Link> links) {
  place_vertices(vertices);
  place_links(links);
  find_copies(vertices, links);
}

void AlikeNodes::place_vertices(std::span<const Vertex> vertices) {
  std::unordered_map<int, std::uint32_t> known;
  vertices_.reserve(vertices.size());
  for (VertexId id = 0; id < vertices.size(); ++id) {
    if (vertices[id].node < 0) {
      vertices_.push_back({kOutside, id});
      continue;
    }
    const auto next = static_cast<std::uint32_t>(nodes_.size());
    const auto [node, fresh] = known.try_emplace(vertices[id].node, next);
    if (fresh) {
      nodes_.emplace_back();
    }
    std::vector<VertexId>& devices = nodes_[node->second].devices;
    vertices_.push_back({node->second, static_cast<std::uint32_t>(devices.size())});
    devices.push_back(id);
  }
}

void AlikeNodes::place_links(std::span<const Link> links) {
  links_.reserve(links.size());
  for (LinkId id = 0; id < links.size(); ++id) {
    const Link& link = links[id];
    const std::uint32_t begin = vertices_[link.from].node;
    const std::uint32_t node = begin != kOutside ? begin : vertices_[link.to].node;
    if (node == kOutside) {
      links_.push_back({kOutside, id});
      continue;
    }
    links_.push_back({node, static_cast<std::uint32_t>(nodes_[node].links.size())});
    nodes_[node].links.push_back(id);
  }
}

std::string AlikeNodes::key_of(std::uint32_t node, std::span<const Vertex> vertices,
                               std::span<const Link> links) const {
  std::string key;
  for (const VertexId device : nodes_[node].devices) {
    append_device(key, vertices[device]);
  }
  for (const LinkId id : nodes_[node].links) {
    const Link& link = links[id];
    append_wire(key, link);
    for (const VertexId end : {link.from, link.to}) {
      const Place place = vertices_[end];
      append_bytes(key, place.node == node);
      append_bytes(key, place.node == node ? place.number : end);
    }
  }
  return key;
}

/// Nodes with a cable to another one: nothing else is where it leads.
std::vector<bool> AlikeNodes::with_cables(std::span<const Link> links) const {
  std::vector<bool> found(nodes_.size(), false);
  for (const Link& link : links) {
    const std::uint32_t from = vertices_[link.from].node;
    const std::uint32_t to = vertices_[link.to].node;
    if (from != to && from != kOutside && to != kOutside) {
      found[from] = found[to] = true;
    }
  }
  return found;
}

void AlikeNodes::find_copies(std::span<const Vertex> vertices, std::span<const Link> links) {
  const std::vector<bool> has_cable = with_cables(links);
  std::unordered_map<std::string, std::uint32_t> known;
  std::uint32_t kinds = 0;
  for (std::uint32_t node = 0; node < nodes_.size(); ++node) {
    if (has_cable[node]) {
      nodes_[node].kind = kinds++;
      continue;
    }
    const auto [kind, fresh] = known.try_emplace(key_of(node, vertices, links), kinds);
    kinds += fresh ? 1 : 0;
    nodes_[node].kind = kind->second;
  }
  count_kinds(kinds);
}

void AlikeNodes::count_kinds(std::uint32_t kinds) {
  kinds_.resize(kinds);
  for (const Node& node : nodes_) {
    Kind& kind = kinds_[node.kind];
    if (++kind.nodes == 1) {
      kind.first_class = devices_of_kinds_;
      devices_of_kinds_ += static_cast<std::uint32_t>(node.devices.size());
    }
  }
}

std::vector<bool> AlikeNodes::few_of_each(std::uint32_t most) const {
  std::vector<bool> chosen(vertices_.size());
  std::vector<std::uint32_t> taken(kinds_.size(), 0);
  for (const Node& node : nodes_) {
    const bool is_taken = ++taken[node.kind] <= most;
    for (const VertexId device : node.devices) {
      chosen[device] = is_taken;
    }
  }
  for (VertexId device = 0; device < vertices_.size(); ++device) {
    chosen[device] = chosen[device] || vertices_[device].node == kOutside;
  }
  return chosen;
}

std::vector<std::uint32_t> AlikeNodes::signature(std::span<const VertexId> members) const {
  std::vector<std::uint32_t> signature;
  signature.reserve(members.size() * 3);
  std::unordered_map<std::uint32_t, std::uint32_t> order;  // of nodes, as they come
  std::uint32_t latest = kOutside;
  std::uint32_t number = 0;
  for (const VertexId member : members) {
    const Place place = vertices_[member];
    if (place.node == kOutside) {
      signature.insert(signature.end(), {kOutside, kOutside, member});
      continue;
    }
    if (place.node != latest) {
      latest = place.node;
      number = order.try_emplace(latest, static_cast<std::uint32_t>(order.size())).first->second;
    }
    signature.insert(signature.end(), {nodes_[place.node].kind, number, place.number});
  }
  return signature;
}

std::vector<std::pair<std::uint32_t, std::uint32_t>> AlikeNodes::swaps(std::span<const VertexId> from,
                                                                       std::span<const VertexId> to) const {
  std::vector<std::pair<std::uint32_t, std::uint32_t>> swaps;
  for (std::size_t member = 0; member < from.size(); ++member) {
    const std::pair swap{vertices_[from[member]].node, vertices_[to[member]].node};
    if (swaps.empty() || swaps.back() != swap) {
      swaps.push_back(swap);
    }
  }
  std::ranges::sort(swaps);
  return swaps;
}

std::vector<LinkId> AlikeNodes::images(std::span<const LinkId> links, std::span<const VertexId> from,
                                       std::span<const VertexId> to) const {
  const auto swapped = swaps(from, to);
  std::vector<LinkId> images;
  images.reserve(links.size());
  for (const LinkId link : links) {
    const Place place = links_[link];
    if (place.node == kOutside) {
      images.push_back(link);
      continue;
    }
    const auto swap =
        std::ranges::lower_bound(swapped, place.node, {}, &std::pair<std::uint32_t, std::uint32_t>::first);
    images.push_back(nodes_[swap->second].links[place.number]);
  }
  return images;
}

}  // namespace lockstep
