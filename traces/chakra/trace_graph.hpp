#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "traces/chakra/trace_tables.hpp"
#include "traces/import_report.hpp"

namespace lockstep::chakra {

/// The work of one rank in its execution trace: compute nodes, copies, collectives and messages, and which
/// has to end before which can begin. Nodes stand in an order in which they can be issued: after all that
/// they depend on, else by ascending id.
struct TraceGraph {
  static constexpr std::uint32_t kCollective = 1U << 31U, kMemory = 1U << 30U;

  std::vector<std::uint64_t> ids;
  /// A kind of compute node; kCollective | a call (TraceTables), of messages too; kMemory | 1: a store, from
  /// the GPU to the host, kMemory: a load
  std::vector<std::uint32_t> what;
  std::vector<std::uint64_t> microseconds;  ///< of compute nodes
  /// num_ops and tensor_size by node, which say how long it takes where it has no duration. Empty where all
  /// nodes have one.
  std::vector<double> operations, bytes;
  bool has_messages = false;
  std::vector<std::uint32_t> first_dependency;  ///< by node, and one more: where its dependencies begin
  std::vector<std::uint32_t> dependencies;      ///< nodes, by their place here
  std::vector<std::string> groups;  ///< process groups in the order of their first use; "": all ranks
  std::uint64_t missing = 0;        ///< dependencies on nodes that the file has not: nothing is waited for
  std::uint64_t missing_of = 0, missing_id = 0;  ///< the first one: the node that has it, and on what

  [[nodiscard]] std::size_t size() const { return ids.size(); }
  [[nodiscard]] bool is_collective(std::size_t node) const { return (what[node] & kCollective) != 0; }
  [[nodiscard]] bool is_memory(std::size_t node) const {
    return !is_collective(node) && (what[node] & kMemory) != 0;
  }
  /// Its duration follows from its operations and bytes.
  [[nodiscard]] bool is_derived(std::size_t node) const {
    return !operations.empty() && !is_collective(node) && !is_memory(node) && microseconds[node] == 0 &&
           (operations[node] > 0 || bytes[node] > 0);
  }
  [[nodiscard]] std::uint32_t call(std::size_t node) const { return what[node] & ~kCollective; }

  /// Whether @p other is the same but for durations, ids and the names of its groups.
  [[nodiscard]] bool same_shape(const TraceGraph& other) const {
    return what == other.what && operations == other.operations && bytes == other.bytes &&
           first_dependency == other.first_dependency && dependencies == other.dependencies &&
           groups.size() == other.groups.size();
  }
};

class LatestTrace;

/// Reads one rank's trace into @p graph, whose memory is used again.
/// @param latest what was read last with the same @p tables, and then this: saves most of the work where the
/// two are alike
/// @throws InputError with the file and what is wrong: cut off or no trace; a node whose simulation is not
/// known
///   (CPU); a collective without its type or size, a message without its other end or size, a copy without
///   its bytes; nodes that depend on each other in a circle
void read_graph(const std::filesystem::path& path, TraceTables& tables, TraceGraph& graph,
                LatestTrace* latest = nullptr);

/// TraceGraph::missing, and durations that are derived, as lines of the report, where there are any.
void report_odd(const TraceGraph& graph, ImportReport& report);

}  // namespace lockstep::chakra
