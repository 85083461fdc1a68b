#pragma once

#include <string>

#include "scenario/figures.hpp"
#include "search/plans/plan_evaluator.hpp"
#include "search/plans/plan_search.hpp"

namespace lockstep {

/// A plan as a line to put into the scenario in place of its own, with all that is not the default:
/// `parallelism: { tensor: 2, sharding: zero1 }, workload: { micro_batch: 4 }`.
[[nodiscard]] std::string plan_text(const PlanEvaluator& evaluator, const PlanCandidate& candidate);

/// The text of `lockstep search` for plans: what was looked at and why not, the best, the front.
/// @pre there is a plan, at least an estimated one
[[nodiscard]] std::string plans_text(const PlanEvaluator& evaluator, const PlanSearchResult& result,
                                     std::size_t keep);

/// The text where no combination can be: how many were pruned, and why.
[[nodiscard]] std::string nothing_to_search_text(const PlanEvaluator& evaluator,
                                                 const PlanSearchResult& result);

/// The text where no plan was built: why.
[[nodiscard]] std::string nothing_built_text(const PlanEvaluator& evaluator, const PlanSearchResult& result);

/// The text where no plan fits: the leanest plan, what holds its memory, and what would make it fit.
[[nodiscard]] std::string no_plan_text(const PlanEvaluator& evaluator, const PlanSearchResult& result);

/// Tokens, MFU (of a simulated plan) and cost.
[[nodiscard]] Figures figures_of_plan(const PlanEvaluator& evaluator, const FoundPlan& plan);

[[nodiscard]] std::string plans_json(const PlanEvaluator& evaluator, const PlanSearchResult& result,
                                     std::size_t keep);

/// Memory over step time: what was estimated, what was simulated, and the front.
[[nodiscard]] std::string plans_svg(const PlanEvaluator& evaluator, const PlanSearchResult& result);

/// `incomplete: ...`: what failed and may be better than what is known; "" where nothing did.
[[nodiscard]] std::string gaps_text(const PlanSearchResult& result);

/// The plans that are reported: those simulated, else (stopped early) those estimated; at most @p keep. None
/// where simulations failed and none went well.
[[nodiscard]] std::vector<FoundPlan> best_plans(const PlanSearchResult& result, std::size_t keep);

}  // namespace lockstep
