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
/// By how much longer than the best plan one may take that hidden messages could make the best.
constexpr double kOverlapGain = 0.2;

/// A plan with `tensor_overlap` the other way round.
struct OverlapTwin {
  FoundPlan plan;       ///< neither estimated nor simulated
  PlanFigures figures;  ///< of it, as far as is known
};

/// Of those of @p known that have one (with_tensor_overlap()): each takes the memory of its plan, and of its
/// time what the twins among @p known take on average with as many GPUs and the same degree, of the time of
/// their own plans; where there is none, all that kOverlapGain allows, so that one is looked at.
/// @param known with estimates or judgements
[[nodiscard]] std::vector<OverlapTwin> overlap_twins(const PlanProblem& problem, const PlanSpace& space,
                                                     const std::vector<FoundPlan>& known);

/// Those of which another number of layers for each stage makes a faster plan, so cut, with estimates: of
/// each number of GPUs the kMostBalanced that could gain to become the fastest, and only such as could be
/// within kBalanceReach of the best of all.
/// @param estimated that fit with even stages
/// @param beyond that do not: a few per cent too full, they may fit with other ones
[[nodiscard]] std::vector<FoundPlan> with_balanced_stages(const PlanJudge& judge, const PlanProbes& probes,
                                                          const std::vector<FoundPlan>& estimated,
                                                          const std::vector<FoundPlan>& beyond);

constexpr std::size_t kMostBalanced = 256;
constexpr double kBalanceReach = 0.05;
/// By how much more than its GPU has a plan may need that other stages could make fit.
constexpr double kMostBeyond = 0.25;

/// Why nothing of @p problem can be kept in host memory, to be read behind "for"; empty: it can.
[[nodiscard]] std::string_view why_not_offloaded(const PlanProblem& problem);

/// What the host's memory could do for plans that do not fit: optimizer states there, and parameters.
[[nodiscard]] std::vector<FoundPlan> with_offload(const PlanProblem& problem,
                                                  const std::vector<FoundPlan>& too_big);

/// Each with the next larger micro-batch of @p space with which it adds up; without those that have none.
[[nodiscard]] std::vector<FoundPlan> with_larger_micro_batches(const PlanProblem& problem,
                                                               const PlanSpace& space,
                                                               const std::vector<FoundPlan>& plans);

}  // namespace lockstep
