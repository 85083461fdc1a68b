#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "search/embedding/candidates.hpp"
#include "search/embedding/step_simulator.hpp"

namespace lockstep {

struct RefinementOptions {
  std::uint64_t seed = 1;
  std::int64_t simulations = 200;  ///< of a plan, at most
  std::function<bool()> stopped = [] { return false; };
  std::function<void(const Candidate&)> found = [](const Candidate&) {};  ///< each that is the best so far
};

/// The last moves of a search: small changes (sharding::SmallChanges) of where the pieces of @p start are,
/// each judged by a simulation of the whole step. Changes that the fast models think clearly worse are not
/// simulated. A slightly worse step is kept for a while (threshold accepting, as sharding::improved()).
/// @pre start.step is known; there are pieces, and at least two devices
/// @return the best step seen, never worse than @p start
[[nodiscard]] Candidate refined(const ShardingProblem& problem, StepSimulator& simulator,
                                const Candidate& start, const RefinementOptions& options);

/// The three fastest of @p candidates that have pieces to move, the fastest that has all tables to move, and
/// the scenario's own plan, of those with equal steps one, refined(), each with its number added to the seed;
/// then the best of these and of all, with_other_shardings() and refined() where it has pieces, with four
/// times as many simulations, for as long as that saves a thousandth of the step, five times at most.
[[nodiscard]] std::vector<Candidate> fastest_refined(const ShardingProblem& problem, StepSimulator& simulator,
                                                     std::span<const Candidate> candidates,
                                                     const RefinementOptions& options);

}  // namespace lockstep
