#pragma once

#include <cstdint>
#include <span>
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
  explicit AlikeNodes(const Fabric& fabric);

  /// Equal for two groups if to swap copies takes one to the other, member by member.
  [[nodiscard]] std::vector<std::uint32_t> signature(std::span<const VertexId> members) const;

  /// The links that take the places of @p links when @p from becomes @p to, in the same order.
  /// @pre both have one signature, and the links are outside nodes or of the nodes of @p from
  [[nodiscard]] std::vector<LinkId> images(std::span<const LinkId> links, std::span<const VertexId> from,
                                           std::span<const VertexId> to) const;

 private:
  static constexpr std::uint32_t kOutside = 0xffffffffU;

  struct Place {
    std::uint32_t node = kOutside;  ///< index into nodes_
    std::uint32_t number = 0;       ///< within the node
  };
  struct Node {
    std::uint32_t kind = 0;  ///< copies have one
    std::vector<LinkId> links;
  };

  void place_vertices(const Fabric& fabric);
  void place_links(const Fabric& fabric);
  void find_copies(const Fabric& fabric);
  [[nodiscard]] std::vector<std::pair<std::uint32_t, std::uint32_t>> swaps(
      std::span<const VertexId> from, std::span<const VertexId> to) const;

  std::vector<Place> vertices_;
  std::vector<Place> links_;  // a link belongs to the node where it begins, else to that where it ends
  std::vector<Node> nodes_;
};

}  // namespace lockstep
