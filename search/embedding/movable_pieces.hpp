#pragma once

#include <utility>

#include "search/embedding/candidates.hpp"

namespace lockstep {

/// What @p plan gives to single GPUs as pieces: tables, columns and, of HugeCTR, rows; where nothing is, what
/// it gives to the rows of nodes.
/// @return pieces, and of what
[[nodiscard]] std::pair<Division, sharding::Plan> in_pieces(const ShardingProblem& problem,
                                                            const EmbeddingPlan& plan);

/// Has the candidate's plan in_pieces(), where the fast models say that it fits so.
void make_movable(const ShardingProblem& problem, Candidate& candidate);

}  // namespace lockstep
