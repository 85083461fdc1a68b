#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/units.hpp"
#include "ops/program.hpp"
#include "traces/chakra/graph_program.hpp"
#include "traces/chakra/trace_graph.hpp"

namespace lockstep::chakra {

/// Highest rates of a GPU: they time nodes that have operations and bytes in place of a duration.
struct NodeRates {
  FlopsPerSecond compute{0};
  BytesPerSecond memory{0};
  bool operator==(const NodeRates&) const = default;
};

/// Ranks whose traces have the same shape: they share one Program, and where durations differ each fills
/// slots.
class RankShape {
 public:
  /// @param rates of the ranks' GPU
  RankShape(TraceGraph graph, RankCalls calls, const NodeRates& rates)
      : graph_{std::move(graph)}, calls_{std::move(calls)}, rates_{rates} {}

  /// Ranks that send or receive have a shape of their own.
  [[nodiscard]] bool fits(const TraceGraph& graph, const std::vector<std::uint32_t>& group_sizes,
                          const NodeRates& rates) const {
    return !graph_.has_messages && calls_.group_sizes == group_sizes &&
           (graph_.operations.empty() || rates_ == rates) && graph_.same_shape(graph);
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
  struct Timing {
    std::uint32_t kind = 0;
    std::uint64_t microseconds = 0;
    double operations = 0, bytes = 0;  ///< of a node without a duration; of a copy its bytes
    bool operator==(const Timing&) const = default;
  };
  struct TimingHash {
    std::size_t operator()(const Timing& timing) const {
      const std::size_t work =
          std::hash<double>{}(timing.operations) * 31 + std::hash<double>{}(timing.bytes);
      return ((timing.microseconds << 12U ^ timing.kind) + work) * 0x9e3779b97f4a7c15ULL >> 7U;
    }
  };

  [[nodiscard]] Timing timing_of(const TraceGraph& graph, std::size_t node) const;
  std::uint32_t kernel(const Timing& timing);
  [[nodiscard]] KernelCall call_of(const Timing& timing, const TraceTables& tables) const;

  TraceGraph graph_;
  RankCalls calls_;
  NodeRates rates_;
  std::unordered_map<Timing, std::uint32_t, TimingHash> numbers_;
  std::vector<Timing> kernels_;
  std::vector<std::vector<std::uint32_t>> durations_;  // by number: the kernel of each compute node
};

}  // namespace lockstep::chakra
