#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ops/program.hpp"
#include "traces/chakra/trace_graph.hpp"

namespace lockstep::chakra {

/// How compute nodes and copies are launched, in the order of the graph.
struct ComputeNodes {
  std::vector<KernelCall> kernels;    ///< becomes Program::kernels
  std::vector<std::uint32_t> kernel;  ///< by compute node: which of them
  std::vector<bool> differs;  ///< by compute node: its kernel depends on the rank: it gets the next slot
};

/// Facts on a rank's groups that its collectives and messages need besides the graph.
struct RankCalls {
  std::vector<std::uint32_t> group_sizes;  ///< members of each of the graph's groups
  /// A process group of this rank and one that it exchanges messages with, behind the graph's groups.
  struct Pair {
    std::uint32_t peer = 0;
    int position = 0;  ///< of the peer in the group
    std::string name;
  };
  std::vector<Pair> pairs;
  std::vector<std::uint32_t> posts;  ///< MessagingRank::posts
};

/// The graph as one host thread that launches without taking time, and streams: `compute`, one node after the
/// other, and `communication`, one collective after the other, as the trace orders them (ASTRA-sim's rule:
/// one compute node and one collective of a rank at a time); `memory` for copies; one for messages to each
/// rank and one from each. A dependency becomes an event unless the order of a stream, or an event waited for
/// before, implies it already. Receives are posted at the start, so that no send waits for its receive; what
/// depends on a receive waits for the message and for what the receive depends on. The program ends when all
/// nodes have.
[[nodiscard]] Program program_of(const TraceGraph& graph, const TraceTables& tables, ComputeNodes compute,
                                 const RankCalls& calls);

}  // namespace lockstep::chakra
