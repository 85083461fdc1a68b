#pragma once

/// @file
/// How large a cluster for a training: the fastest plan on each number of GPUs, and what the training takes
/// and costs with it (docs/size.md).

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/progress.hpp"
#include "calibration/band.hpp"
#include "scenario/figures.hpp"
#include "scenario/opened_scenario.hpp"
#include "search/plans/plan_evaluator.hpp"
#include "search/plans/plan_search.hpp"

namespace lockstep {

struct SizeQuestion {
  std::vector<int> gpus;            ///< numbers to look at
  std::vector<int> nics;            ///< plugged in on each node; empty: as the scenario has it
  std::optional<double> tokens;     ///< of the training
  std::optional<double> most_days;  ///< that it may take
  std::function<PlanSpace(const PlanProblem&)> space_of = usual_space;  ///< plans to look at
};

/// A number of GPUs, and what its fastest plan makes of them.
struct ClusterSize {
  int gpus = 0;
  int nodes = 0;
  std::optional<int> nics;                           ///< of each node
  std::shared_ptr<const PlanEvaluator> evaluator{};  ///< of the scenario on this cluster
  std::optional<FoundPlan> plan{};                   ///< none: see why_none
  std::string why_none{};
  bool is_too_big = false;     ///< no plan fits: known, not for want of time
  bool is_complete = false;    ///< all plans were looked at
  std::optional<Band> band{};  ///< of the step time; none: an estimate
  Figures figures{};
  std::optional<double> days{};  ///< of the training
  std::optional<double> cost{};  ///< of the training, where a price is given

  [[nodiscard]] double step() const { return plan->figures().step; }
  /// s of GPUs for a step: the price of a token is proportional to it.
  [[nodiscard]] double gpu_seconds() const { return step() * gpus; }
};

struct SizeAnswer {
  std::vector<ClusterSize> sizes;      ///< by GPUs, then NICs
  std::optional<std::size_t> best;     ///< the cheapest of those within the deadline
  std::optional<std::size_t> fastest;  ///< of all
  std::vector<std::size_t> ties;       ///< as cheap as the best, within its band
  bool meets_deadline = true;          ///< the best does; true where none is given
  int interruption = 0;                ///< signal; 0: none
};

/// Searches the plans of each size. One whose plan takes the fewest GPU seconds is the cheapest.
/// @param options of each search; the budget is shared among them
/// @throws InputError, std::invalid_argument as with_gpus() and PlanEvaluator
[[nodiscard]] SizeAnswer size_cluster(const OpenedScenario& scenario, const SizeQuestion& question,
                                      PlanSearchOptions options, const Progress& progress);

/// The size that answers the question, of those that have a plan.
void choose(SizeAnswer& answer, const std::optional<double>& most_days);

}  // namespace lockstep
