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

AlikeNodes::AlikeNodes(const Fabric& fabric) {
  place_vertices(fabric);
  place_links(fabric);
  find_copies(fabric);
}

void AlikeNodes::place_vertices(const Fabric& fabric) {
  std::unordered_map<int, std::uint32_t> known;
  std::vector<std::uint32_t> devices;  // by node
  vertices_.reserve(fabric.vertices().size());
  for (const Vertex& vertex : fabric.vertices()) {
    if (vertex.node < 0) {
      vertices_.push_back({});
      continue;
    }
    const auto [node, fresh] = known.try_emplace(vertex.node, static_cast<std::uint32_t>(known.size()));
    if (fresh) {
      devices.push_back(0);
    }
    vertices_.push_back({node->second, devices[node->second]++});
  }
  nodes_.resize(known.size());
}

void AlikeNodes::place_links(const Fabric& fabric) {
  links_.reserve(fabric.links().size());
  for (LinkId id = 0; id < fabric.links().size(); ++id) {
    const Link& link = fabric.links()[id];
    const std::uint32_t begin = vertices_[link.from].node;
    const std::uint32_t node = begin != kOutside ? begin : vertices_[link.to].node;
    if (node == kOutside) {
      links_.push_back({});
      continue;
    }
    links_.push_back({node, static_cast<std::uint32_t>(nodes_[node].links.size())});
    nodes_[node].links.push_back(id);
  }
}

void AlikeNodes::find_copies(const Fabric& fabric) {
  std::vector<std::string> keys(nodes_.size());
  for (VertexId id = 0; id < vertices_.size(); ++id) {
    if (vertices_[id].node != kOutside) {
      append_device(keys[vertices_[id].node], fabric.vertices()[id]);
    }
  }
  std::vector<bool> has_cable(nodes_.size(), false);  // to another node: nothing else is where it is
  for (std::uint32_t node = 0; node < nodes_.size(); ++node) {
    std::string& key = keys[node];
    for (const LinkId id : nodes_[node].links) {
      const Link& link = fabric.links()[id];
      append_wire(key, link);
      for (const VertexId end : {link.from, link.to}) {
        const Place place = vertices_[end];
        if (place.node != node && place.node != kOutside) {
          has_cable[node] = has_cable[place.node] = true;
        }
        append_bytes(key, place.node == node);
        append_bytes(key, place.node == node ? place.number : end);
      }
    }
  }
  std::unordered_map<std::string, std::uint32_t> known;
  std::uint32_t kinds = 0;
  for (std::uint32_t node = 0; node < nodes_.size(); ++node) {
    if (has_cable[node]) {
      nodes_[node].kind = kinds++;
      continue;
    }
    const auto [kind, fresh] = known.try_emplace(std::move(keys[node]), kinds);
    kinds += fresh ? 1 : 0;
    nodes_[node].kind = kind->second;
  }
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
