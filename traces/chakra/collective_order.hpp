#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "ops/job.hpp"
#include "traces/chakra/trace_files.hpp"
#include "traces/chakra/trace_graph.hpp"

namespace lockstep::chakra {

/// Checks that all members of every group of @p job call the same collectives in the same order.
/// @param graphs by program of the job; a rank's groups stand in the order of its graph's
/// @throws InputError naming two ranks and what they call
void check_collective_order(const Job& job, std::span<const TraceGraph* const> graphs,
                            const TraceTables& tables, const TraceFiles& files);

}  // namespace lockstep::chakra
