#pragma once

#include "search/embedding/refinement.hpp"

namespace lockstep {

/// Tries shardings that small changes of pieces never reach: each table of @p start by itself, in a drawn
/// order. The table goes to every GPU, to the rows of all or of a node, or whole to a GPU. These are the two
/// that first finish their lookups; it joins cut tables or is by itself. If the plan uses host memory, it
/// goes there, too. A table there also trades places with a colder one (host_tables.hpp), or gets twice or
/// half its cache. Last, whole tables move apart from cut ones, or join them. Caches take the memory that is
/// left (with_full_caches()). Each change is simulated, and kept where the step is shorter. A quarter of
/// options.simulations at most; none where every table has to be whole.
/// @pre start.step is known
/// @return the plan with the shortest step, and a name that says what is in it where that is another
[[nodiscard]] Candidate with_other_shardings(const ShardingProblem& problem, StepSimulator& simulator,
                                             const Candidate& start, const RefinementOptions& options);

}  // namespace lockstep
