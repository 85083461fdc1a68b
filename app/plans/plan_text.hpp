#pragma once

#include <string>

#include "search/plans/plan_judge.hpp"
#include "search/plans/plan_search.hpp"

namespace lockstep {

/// A plan as a line to put into the scenario in place of its own, with all that is not the default:
/// `parallelism: { tensor: 2, sharding: zero1 }, workload: { micro_batch: 4 }`.
[[nodiscard]] std::string plan_text(const PlanJudge& judge, const PlanCandidate& candidate);

/// What `lockstep search` prints of plans: what was looked at and why not, the best, the front.
/// @pre there is a plan, at least an estimated one
[[nodiscard]] std::string plans_text(const PlanJudge& judge, const PlanSearchResult& result,
                                     std::size_t keep);

/// Where no combination can be: how many were pruned, and why.
[[nodiscard]] std::string nothing_to_search_text(const PlanJudge& judge, const PlanSearchResult& result);

/// Where none was built: why.
[[nodiscard]] std::string nothing_built_text(const PlanJudge& judge, const PlanSearchResult& result);

/// Where none fits: the leanest plan, what holds its memory, and what would make it fit.
[[nodiscard]] std::string no_plan_text(const PlanJudge& judge, const PlanSearchResult& result);

[[nodiscard]] std::string plans_json(const PlanJudge& judge, const PlanSearchResult& result,
                                     std::size_t keep);

/// Memory over step time: what was estimated, what was simulated, and the front.
[[nodiscard]] std::string plans_svg(const PlanJudge& judge, const PlanSearchResult& result);

/// `incomplete: ...`: what failed and may be better than what is known; "" where nothing did.
[[nodiscard]] std::string gaps_text(const PlanSearchResult& result);

/// The plans that are reported: those simulated, else (stopped early) those estimated; at most @p keep. None
/// where simulations failed and none went well.
[[nodiscard]] std::vector<FoundPlan> best_plans(const PlanSearchResult& result, std::size_t keep);

}  // namespace lockstep
