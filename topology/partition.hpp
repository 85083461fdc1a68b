#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "topology/fabric.hpp"
#include "topology/shortest_paths.hpp"

namespace lockstep {

/// A vertex through which messages leave or enter a node, as seen from another vertex of the node.
struct Gate {
  PathCost cost = 0;       ///< between the vertex and the gate
  std::uint32_t port = 0;  ///< number within the node
};

/// The shape that nodes of one structure share: paths inside, and the gates of each vertex, nearest first,
/// equally near ones by index.
struct NodeShape {
  NodeShape(std::vector<bool> forwards, const std::vector<Arc>& arcs) : paths{std::move(forwards), arcs} {}

  ShortestPaths paths;
  std::vector<std::vector<Gate>> exits;    ///< by vertex
  std::vector<std::vector<Gate>> entries;  ///< by vertex
};

/// A node, or (part 0) everything outside nodes. Its vertices and links have numbers within the part.
struct Part {
  std::shared_ptr<const NodeShape> shape;
  std::vector<VertexId> vertices;
  std::vector<LinkId> links;
};

/// The place of a vertex.
struct Place {
  std::uint32_t part = 0;
  std::uint32_t local = 0;
};

/// The machine taken apart: nodes, what lies outside, and the links between. A cluster of two thousand equal
/// nodes holds the paths of one.
class Partition {
 public:
  Partition(std::span<const Vertex> vertices, std::span<const Link> links);

  [[nodiscard]] Place place(VertexId vertex) const { return places_[vertex]; }
  [[nodiscard]] const Part& part(std::uint32_t number) const { return parts_[number]; }

  /// Links from @p vertex into another part, and from another part to it.
  [[nodiscard]] std::span<const LinkId> leaving(VertexId vertex) const { return leaving_.of(vertex); }
  [[nodiscard]] std::span<const LinkId> entering(VertexId vertex) const { return entering_.of(vertex); }

 private:
  struct LinksByVertex {
    std::vector<std::uint32_t> begin;  // by vertex, one more at the end
    std::vector<LinkId> links;
    [[nodiscard]] std::span<const LinkId> of(VertexId vertex) const {
      return std::span{links}.subspan(begin[vertex], begin[vertex + 1] - begin[vertex]);
    }
  };

  void place_vertices(std::span<const Vertex> vertices);
  void sort_links(std::span<const Link> links);
  void find_shapes(std::span<const Vertex> vertices, std::span<const Link> links);
  [[nodiscard]] std::vector<Arc> arcs_of(const Part& part, std::span<const Link> links) const;
  [[nodiscard]] std::shared_ptr<const NodeShape> shape_of(const Part& part, std::span<const Vertex> vertices,
                                                          const std::vector<Arc>& arcs) const;

  std::vector<Place> places_;
  std::vector<Part> parts_;
  LinksByVertex leaving_;
  LinksByVertex entering_;
};

/// Whether paths may lead through @p vertex.
[[nodiscard]] inline bool may_forward(const Vertex& vertex) {
  return vertex.kind != VertexKind::Gpu || vertex.forwards;
}

}  // namespace lockstep
