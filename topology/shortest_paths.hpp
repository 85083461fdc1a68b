#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "topology/ecmp.hpp"
#include "topology/path_cost.hpp"

namespace lockstep {

/// A directed edge of a part of the fabric; ends and link are numbers within that part.
struct Arc {
  std::uint32_t from = 0;
  std::uint32_t to = 0;
  std::uint32_t link = 0;
  PathCost cost = 0;
};

/// All shortest paths in one part of the fabric: a node, or everything outside nodes. Distances to a
/// destination are computed when first asked for (Dijkstra, Boost.Graph) and kept; a vertex into which all
/// arcs lead from one place (a GPU below one switch) shares that place's. Thread-safe.
class ShortestPaths {
 public:
  /// @param forwards by vertex: paths may lead through it
  ShortestPaths(std::vector<bool> forwards, const std::vector<Arc>& arcs);
  ~ShortestPaths();
  ShortestPaths(const ShortestPaths&) = delete;
  ShortestPaths& operator=(const ShortestPaths&) = delete;
  ShortestPaths(ShortestPaths&&) = delete;
  ShortestPaths& operator=(ShortestPaths&&) = delete;

  /// kUnreachable when there is no path; 0 from a vertex to itself.
  [[nodiscard]] PathCost cost(std::uint32_t from, std::uint32_t to) const;

  /// Appends the links (numbers within this part) of the path that @p hash picks; the path must exist.
  /// @param hops links that the message has crossed before
  void append_path(std::uint32_t from, std::uint32_t to, const EcmpHash& hash, std::uint32_t hops,
                   std::vector<std::uint32_t>& links) const;

 private:
  class Graph;
  struct Step;
  struct WayIn;
  using Table = std::vector<Step>;

  [[nodiscard]] const Table& table_to(std::uint32_t destination) const;
  std::uint32_t append_by_table(std::uint32_t from, std::uint32_t to, const EcmpHash& hash,
                                std::uint32_t hops,
                                std::vector<std::uint32_t>& links) const;  // the hops crossed then

  std::unique_ptr<const Graph> graph_;
  mutable std::vector<std::atomic<const Table*>> tables_;  // by destination, null until asked for
  mutable std::vector<std::unique_ptr<const Table>> owned_;
  mutable std::mutex growing_;
};

}  // namespace lockstep
