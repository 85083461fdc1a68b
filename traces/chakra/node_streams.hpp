#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "traces/chakra/trace_graph.hpp"

namespace lockstep::chakra {

/// Streams of a rank's nodes: `compute`, `communication`, `memory`, and of messages one for each rank that
/// they go to and one for each that they come from, as far as there are enough: beyond 28 ranks share them.
class NodeStreams {
 public:
  NodeStreams(const TraceGraph& graph, const TraceTables& tables);

  [[nodiscard]] std::uint32_t of(std::uint32_t node) const { return of_node_[node]; }
  [[nodiscard]] std::uint32_t count() const { return static_cast<std::uint32_t>(names_.size()); }
  [[nodiscard]] std::vector<std::string> names() && { return std::move(names_); }

 private:
  std::uint32_t number_of(std::uint32_t node);
  std::uint32_t usual(std::uint32_t place);
  std::uint32_t further(const std::string& name);

  const TraceGraph& graph_;
  const TraceTables& tables_;
  std::vector<std::string> names_;
  std::map<std::string, std::uint32_t> numbers_;      // of further streams
  std::map<std::uint32_t, std::uint32_t> to_, from_;  // by rank
  std::vector<std::uint32_t> of_node_;
};

}  // namespace lockstep::chakra
