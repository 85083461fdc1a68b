#pragma once

#include <cstdint>
#include <functional>

#include "app/search/candidates.hpp"
#include "app/search/step_simulator.hpp"

namespace lockstep {

struct RefinementOptions {
  std::uint64_t seed = 1;
  std::int64_t simulations = 300;  ///< at most
  std::function<bool()> stopped = [] { return false; };
};

/// The last moves of a search: small changes (sharding::SmallChanges) of where the pieces of @p start are,
/// each judged by a simulation of the whole step. Changes that the fast models think clearly worse are not
/// simulated. A slightly worse step is kept for a while (threshold accepting, as sharding::improved()).
/// @pre start.step is known
/// @return the best step seen, never worse than @p start
[[nodiscard]] Candidate refined(const ShardingProblem& problem, StepSimulator& simulator,
                                const Candidate& start, const RefinementOptions& options);

}  // namespace lockstep
