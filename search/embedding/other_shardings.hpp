#pragma once

#include "search/embedding/refinement.hpp"

namespace lockstep {

/// What small changes of pieces never do: each table of @p start by itself, in a drawn order, under the
/// shardings that it has not: on every GPU, cut by the rows of all or of a node, whole on one of the two GPUs
/// that are done first with their look-ups, with cut tables or by itself, and, where the plan keeps tables in
/// host memory, there, and those there in exchange for a colder one (host_tables.hpp) or with twice and half
/// the share of the caches; last, whole tables apart from cut ones, or with them. Caches take the memory that
/// each leaves (with_full_caches()). Each is simulated, and kept where the step is shorter. A quarter of
/// options.simulations at most; none where every table has to be whole.
/// @pre start.step is known
/// @return the plan with the shortest step, and a name that says what is in it where that is another
[[nodiscard]] Candidate with_other_shardings(const ShardingProblem& problem, StepSimulator& simulator,
                                             const Candidate& start, const RefinementOptions& options);

}  // namespace lockstep
