#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "ops/program.hpp"
#include "traces/chakra/graph_program.hpp"
#include "traces/chakra/trace_graph.hpp"

namespace lockstep::chakra {

/// Ranks whose traces have the same shape: they share one Program, and where durations differ each fills
/// slots.
class RankShape {
 public:
  /// @param group_sizes members of each of the graph's groups
  RankShape(TraceGraph graph, std::vector<std::uint32_t> group_sizes)
      : graph_{std::move(graph)}, group_sizes_{std::move(group_sizes)} {}

  [[nodiscard]] bool fits(const TraceGraph& graph, const std::vector<std::uint32_t>& group_sizes) const {
    return group_sizes_ == group_sizes && graph_.same_shape(graph);
  }

  /// Takes the durations of a graph of this shape in. @return their number: equal ones mostly have the same
  std::uint32_t add_durations(const TraceGraph& graph);

  [[nodiscard]] const TraceGraph& graph() const { return graph_; }  ///< of the first rank of the shape

  struct Result {
    Program program;
    std::vector<std::vector<std::uint32_t>> slots;  ///< by number of durations: RankAssignment::kernel_slots
  };
  [[nodiscard]] Result finish(const TraceTables& tables) &&;

 private:
  std::uint32_t kernel(std::uint32_t kind, std::uint64_t microseconds);

  struct Timing {
    std::uint32_t kind = 0;
    std::uint64_t microseconds = 0;
    bool operator==(const Timing&) const = default;
  };
  struct TimingHash {
    std::size_t operator()(const Timing& timing) const {
      return (timing.microseconds << 12U ^ timing.kind) * 0x9e3779b97f4a7c15ULL >> 7U;
    }
  };

  TraceGraph graph_;
  std::vector<std::uint32_t> group_sizes_;
  std::unordered_map<Timing, std::uint32_t, TimingHash> numbers_;
  std::vector<Timing> kernels_;
  std::vector<std::vector<std::uint32_t>> durations_;  // by number: the kernel of each compute node
};

}  // namespace lockstep::chakra
