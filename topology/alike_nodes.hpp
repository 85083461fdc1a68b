#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "topology/fabric.hpp"

namespace lockstep {

/// Nodes that are copies: the same devices in the same order, the same links between them, and the same links
/// to the same devices outside. To swap two copies changes no distance and no tie between ways, so what was
/// worked out for a group of GPUs holds for its image. Exceptions are choices by a hash of the ends, which
/// tell images apart: hashed_choices() counts them.
class AlikeNodes {
 public:
  /// The node of a device that is outside of nodes.
  static constexpr std::uint32_t kOutside = 0xffffffffU;

  /// The place of a device or a link: the node that it belongs to and its number there, or its own id
  /// outside. A link belongs to the node where it begins, else to that where it ends.
  struct Place {
    std::uint32_t node = kOutside;  ///< counted as the devices meet them, not the number that the user gave
    std::uint32_t number = 0;       ///< within the node
  };

  AlikeNodes(std::span<const Vertex> vertices, std::span<const Link> links);

  [[nodiscard]] Place place_of_device(VertexId device) const { return vertices_[device]; }
  [[nodiscard]] Place place_of_link(LinkId link) const { return links_[link]; }
  [[nodiscard]] VertexId device_at(std::uint32_t node, std::uint32_t number) const {
    return nodes_[node].devices[number];
  }
  [[nodiscard]] LinkId link_at(std::uint32_t node, std::uint32_t number) const {
    return nodes_[node].links[number];
  }
  /// Whether @p device is in a node that has copies.
  [[nodiscard]] bool has_copies(VertexId device) const {
    const std::uint32_t node = vertices_[device].node;
    return node != kOutside && kinds_[nodes_[node].kind].nodes > 1;
  }

  /// The first nodes of each kind, @p most of it, and all that is outside: a machine in which everything
  /// holds that holds of so many nodes at once.
  [[nodiscard]] std::vector<bool> few_of_each(std::uint32_t most) const;

  /// Equal for devices in the same place of copies. One outside nodes is in a class of its own.
  [[nodiscard]] std::uint32_t class_of(VertexId device) const {
    const Place place = vertices_[device];
    return place.node == kOutside ? devices_of_kinds_ + device
                                  : kinds_[nodes_[place.node].kind].first_class + place.number;
  }

  /// Equal for two groups if to swap copies takes one to the other, member by member.
  [[nodiscard]] std::vector<std::uint32_t> signature(std::span<const VertexId> members) const;

  /// The links that take the places of @p links when @p from becomes @p to, in the same order.
  /// @pre both have one signature, and the links are outside nodes or of the nodes of @p from
  [[nodiscard]] std::vector<LinkId> images(std::span<const LinkId> links, std::span<const VertexId> from,
                                           std::span<const VertexId> to) const;

 private:
  struct Kind {
    std::uint32_t nodes = 0;        ///< that are copies
    std::uint32_t first_class = 0;  ///< of its devices
  };
  struct Node {
    std::uint32_t kind = 0;  ///< copies have one
    std::vector<VertexId> devices;
    std::vector<LinkId> links;
  };

  void place_vertices(std::span<const Vertex> vertices);
  void place_links(std::span<const Link> links);
  void find_copies(std::span<const Vertex> vertices, std::span<const Link> links);
  [[nodiscard]] std::string key_of(std::uint32_t node, std::span<const Vertex> vertices,
                                   std::span<const Link> links) const;
  [[nodiscard]] std::vector<bool> with_cables(std::span<const Link> links) const;
  void count_kinds(std::uint32_t kinds);
  [[nodiscard]] std::vector<std::pair<std::uint32_t, std::uint32_t>> swaps(
      std::span<const VertexId> from, std::span<const VertexId> to) const;

  std::vector<Place> vertices_;
  std::vector<Place> links_;
  std::vector<Node> nodes_;
  std::vector<Kind> kinds_;
  std::uint32_t devices_of_kinds_ = 0;
};

}  // namespace lockstep
