#pragma once

#include <utility>

#include "search/embedding/candidates.hpp"

namespace lockstep {

/// Pieces that @p plan gives to single GPUs: tables, columns and, with HugeCTR, rows. Where it gives none,
/// the pieces that it gives to the rows of nodes.
/// @return pieces, and of what
[[nodiscard]] std::pair<PlacementSplit, sharding::Plan> in_pieces(const ShardingProblem& problem,
                                                                  const EmbeddingPlan& plan);

/// Has the candidate's plan in_pieces(), where the fast models say that it fits so.
void make_movable(const ShardingProblem& problem, Candidate& candidate);

}  // namespace lockstep
