#pragma once

#include <cstdint>
#include <vector>

#include "ops/program.hpp"
#include "traces/chakra/trace_graph.hpp"

namespace lockstep::chakra {

/// How compute nodes are launched, in the order of the graph.
struct ComputeNodes {
  std::vector<KernelCall> kernels;    ///< becomes Program::kernels
  std::vector<std::uint32_t> kernel;  ///< by compute node: which of them
  std::vector<bool> differs;  ///< by compute node: its kernel depends on the rank: it gets the next slot
};

/// The graph as one host thread that launches without taking time, and two streams: `compute`, one node after
/// the other, and `communication`, one collective after the other, as the trace orders them (ASTRA-sim's
/// rule: one compute node and one collective of a rank at a time). A dependency becomes an event unless the
/// order of a stream, or an event waited for before, implies it already. The program ends when all nodes
/// have.
/// @param group_sizes members of each of the graph's groups
[[nodiscard]] Program program_of(const TraceGraph& graph, const TraceTables& tables, ComputeNodes compute,
                                 const std::vector<std::uint32_t>& group_sizes);

}  // namespace lockstep::chakra
