#pragma once

/// @file
/// Plans that are made of those that a search found, with what it does not combine with everything else.

#include <string_view>
#include <vector>

#include "search/plans/plan_probes.hpp"
#include "search/plans/plan_search.hpp"

namespace lockstep {

/// The fastest whose tensor parallelism may hide its messages (`tensor_overlap`), hiding them: of each number
/// of GPUs and degree, which says how much there is to hide, at most kMostOverlapping, and none that takes
/// longer than kOverlapGain would make up for. @param simulated of the estimated; their times go before
/// estimates
[[nodiscard]] std::vector<FoundPlan> with_overlap(const PlanProblem& problem, const PlanSpace& space,
                                                  const std::vector<FoundPlan>& estimated,
                                                  const std::vector<FoundPlan>& simulated);

constexpr std::size_t kMostOverlapping = 4;
/// Share of the best plan's time that a plan may take longer, if hidden messages could make it the best.
constexpr double kOverlapGain = 0.2;

/// A plan with `tensor_overlap` the other way round.
struct OverlapTwin {
  FoundPlan plan;       ///< neither estimated nor simulated
  PlanFigures figures;  ///< of it, as far as is known
};

/// Twins of those plans of @p known that have one (with_tensor_overlap()). A twin takes the memory of its
/// plan. Its time is its plan's times the mean ratio of the twins in @p known, with as many GPUs and the same
/// degree. Where there is no such twin, it is all that kOverlapGain allows, so that one is looked at.
/// @param known with estimates or judgements
[[nodiscard]] std::vector<OverlapTwin> overlap_twins(const PlanProblem& problem, const PlanSpace& space,
                                                     const std::vector<FoundPlan>& known);

/// Plans that another number of layers for each stage makes faster, so cut, with estimates. Of each number of
/// GPUs it takes the kMostBalanced that could gain to become the fastest. They must be able to come within
/// kBalanceReach of the best of all.
/// @param estimated that fit with even stages
/// @param beyond that do not: a few per cent too full, they may fit with other ones
[[nodiscard]] std::vector<FoundPlan> with_balanced_stages(const PlanEvaluator& evaluator,
                                                          const PlanProbes& probes,
                                                          const std::vector<FoundPlan>& estimated,
                                                          const std::vector<FoundPlan>& beyond);

constexpr std::size_t kMostBalanced = 256;
constexpr double kBalanceReach = 0.05;
/// Share of its GPU's memory that a plan may need beyond it, if other stages could make it fit.
constexpr double kMostBeyond = 0.25;

/// Why nothing of @p problem can be kept in host memory, to be read behind "for"; empty: it can.
[[nodiscard]] std::string_view why_not_offloaded(const PlanProblem& problem);

/// Plans that do not fit, with optimizer states in host memory, and with parameters there, too.
[[nodiscard]] std::vector<FoundPlan> with_offload(const PlanProblem& problem,
                                                  const std::vector<FoundPlan>& too_big);

/// Each with the next larger micro-batch of @p space with which it adds up; without those that have none.
[[nodiscard]] std::vector<FoundPlan> with_larger_micro_batches(const PlanProblem& problem,
                                                               const PlanSpace& space,
                                                               const std::vector<FoundPlan>& plans);

}  // namespace lockstep
