#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "topology/partition.hpp"

namespace lockstep {

/// Finds routes in two levels: inside a node along shortest paths; between nodes from the vertex to the
/// nearest gate (a NIC), across what lies outside nodes, and from the other node's gate on. docs/topology.md
/// has the rules.
class Router {
 public:
  /// @p vertices and @p links must outlive the router.
  Router(std::span<const Vertex> vertices, std::span<const Link> links);

  /// The links to cross, nothing when there is no route.
  [[nodiscard]] std::optional<std::vector<LinkId>> route(VertexId from, VertexId to,
                                                         std::uint64_t flow) const;

  /// The nearest vertex of @p kind in the part of @p from, of equally near ones the lowest index.
  [[nodiscard]] std::optional<VertexId> nearest(VertexId from, VertexKind kind) const;

 private:
  /// A way from a gate of one part to one of another: at most one link at each end, and a path outside nodes.
  struct Crossing {
    PathCost cost = kUnreachable;
    std::optional<LinkId> up;        ///< none when the message starts outside nodes
    std::optional<LinkId> down;      ///< none when it ends there, or when `up` leads to the other gate
    std::uint32_t outside_from = 0;  ///< numbers within part 0
    std::uint32_t outside_to = 0;
  };
  struct Way {
    PathCost cost = 0;
    VertexId exit = 0;
    VertexId entry = 0;
    Crossing crossing;
  };

  [[nodiscard]] const std::vector<Gate>& exits(VertexId vertex) const;
  [[nodiscard]] const std::vector<Gate>& entries(VertexId vertex) const;
  [[nodiscard]] Crossing crossing(VertexId exit, VertexId entry, const EcmpHash& hash) const;
  [[nodiscard]] std::optional<Way> way_over(VertexId from, VertexId to, const EcmpHash& hash) const;
  [[nodiscard]] std::optional<Way> way_from_exit(VertexId exit, VertexId to, const EcmpHash& hash) const;
  void append_inside(VertexId from, VertexId to, const EcmpHash& hash, std::vector<LinkId>& links) const;
  [[nodiscard]] std::vector<LinkId> links_of(const Way& way, VertexId from, VertexId to,
                                             const EcmpHash& hash) const;

  std::span<const Vertex> vertices_;
  std::span<const Link> links_;
  Partition partition_;
};

}  // namespace lockstep
