#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "search/plans/plan_evaluator.hpp"
#include "search/plans/plan_space.hpp"
#include "search/plans/plan_tasks.hpp"

namespace lockstep {

struct FoundPlan {
  PlanCandidate candidate;
  PlanEstimate estimate;                     ///< memory as PlanEvaluator::normalised_memory(); 0 of variants
  std::optional<PlanEvaluation> evaluation;  ///< none: not simulated

  [[nodiscard]] bool is_estimated() const { return estimate.step > Seconds{0}; }
  [[nodiscard]] PlanFigures figures() const {
    return evaluation
               ? PlanFigures{evaluation->step, evaluation->normalised_memory, candidate.gpus}
               : PlanFigures{estimate.step.in_base_units(), estimate.memory.in_base_units(), candidate.gpus};
  }
};

struct PlanSearchResult {
  PlanEnumeration enumeration;             ///< Pruned::Bound and Memory counted too
  std::size_t probes = 0, probes_run = 0;  ///< stages to simulate, and simulated
  /// Plans left that the estimate says may be faster than the best, by number of GPUs. Has only those numbers
  /// of GPUs with as many simulated plans as are allowed.
  std::map<int, std::size_t> left;
  std::map<std::string, PlanFailure> failures;  ///< by what simulations complained of
  std::size_t failed_probes = 0;                ///< stages whose simulation failed
  std::size_t not_estimated = 0;                ///< candidates, for one of their stages failed
  std::vector<PlanCandidate> failed;            ///< whose simulation failed
  std::vector<FoundPlan> estimated;             ///< all that the estimate says fit, fastest first
  std::size_t balanced = 0;                     ///< of these with uneven stages
  std::vector<FoundPlan> plans;                 ///< simulated, and fit: fastest first
  std::vector<FoundPlan> front;                 ///< of these, by step time, memory, GPUs
  std::vector<FoundPlan> too_big;               ///< built, and do not fit: leanest first
  std::vector<FoundPlan> offloaded;  ///< where nothing fits: too big ones that do with offload, fastest first
  std::optional<PlanEvaluation> own;  ///< the scenario's own plan, where it can be
  std::string own_failure;            ///< why it cannot; "": it can, or there was no time
  int interruption = 0;               ///< signal; 0: none
  bool out_of_time = false;

  /// Errors of the estimate on simulated plans, over the simulated step time: mean absolute, and extremes.
  struct EstimateErrors {
    double mean = 0, least = 0, most = 0;
  };
  [[nodiscard]] EstimateErrors estimate_errors() const;

  /// Simulations failed of what may be better than all that is known.
  [[nodiscard]] bool has_gaps() const { return not_estimated > 0 || !failed.empty(); }
};

/// Plans of which none other is better in step time, memory and number of GPUs.
[[nodiscard]] std::vector<FoundPlan> front_of(const std::vector<FoundPlan>& plans);

}  // namespace lockstep
