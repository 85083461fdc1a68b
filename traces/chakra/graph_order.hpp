#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "traces/chakra/trace_graph.hpp"

namespace lockstep::chakra {

/// Brings the nodes of @p graph, which stand as in their file, into an order in which they can be issued.
/// @param wanted ids of what nodes depend on, laid out as TraceGraph::first_dependency says
/// @param without_work ids of nodes that take no time and need not be waited for, ascending
/// Dependencies on none of the nodes are left out and counted (TraceGraph::missing).
/// @throws std::invalid_argument: an id given twice, a circle
void put_in_order(TraceGraph& graph, const std::vector<std::uint64_t>& wanted,
                  const std::vector<std::uint64_t>& without_work);

/// Brings nodes that already can be issued one after the other into another such order.
/// @param order by new place: the old one
void reorder(TraceGraph& graph, const std::vector<std::uint32_t>& order);

}  // namespace lockstep::chakra
