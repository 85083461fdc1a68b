#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "traces/chakra/converted_nodes.hpp"
#include "traces/chakra/trace_tables.hpp"

namespace lockstep::chakra {

/// The kind of work that a node of a converted trace becomes.
enum class ConvertedWork : std::uint8_t { Host, Kernel, Collective, Message };

/// A send or receive as its node asks for it; none: its other end or its size is not said, as by PyTorch's
/// converter.
[[nodiscard]] std::optional<TraceTables::Call> message_of(const ConvertedNode& node);

/// The nodes that take time, each after all that it depends on, else by ascending id.
struct ConvertedGraph {
  struct Entry {
    std::uint32_t node = 0;  ///< of ConvertedTrace::nodes
    ConvertedWork work = ConvertedWork::Host;
    std::vector<std::uint32_t> needed;  ///< places of entries, ascending
  };
  std::vector<Entry> entries;
};

/// Decides what is host work, kernel and collective, and what has to wait for what:
///   data_deps   before the node can begin
///   ctrl_deps   name the caller, not an order (old converters even let callers wait for what they call): the
///               order of a host thread says it already. They count for GPU work that has no data_deps
/// What it leaves out, and what is not simulated but runs for its recorded time, is in the trace's report.
/// @throws InputError naming the file: an id given twice, a circle of data dependencies, an impossible
///   duration
[[nodiscard]] ConvertedGraph graph_of(ConvertedTrace& trace);

}  // namespace lockstep::chakra
