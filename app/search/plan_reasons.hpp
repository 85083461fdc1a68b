#pragma once

#include <string>

#include "scenario/prediction.hpp"
#include "search/embedding/candidates.hpp"

namespace lockstep {

/// A plan and the simulation of its step, with what its ranks did.
struct SimulatedPlan {
  const Candidate& plan;
  const SimulationResult& result;
};

/// Why @p best takes less than @p other: what of the two simulated steps is shorter, the largest difference
/// first, and what of the loads is less. "" where it does not take less.
[[nodiscard]] std::string reasons(const ShardingProblem& problem, const SimulatedPlan& best,
                                  const Candidate& other);

}  // namespace lockstep
