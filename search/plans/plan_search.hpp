#pragma once

/// @file
/// The search for the best parallel plans of a scenario (docs/plans.md).

#include <chrono>
#include <cstddef>
#include <optional>

#include "base/progress.hpp"
#include "search/plans/plan_evaluator.hpp"
#include "search/plans/plan_search_result.hpp"
#include "search/plans/plan_space.hpp"

namespace lockstep {

constexpr std::size_t kMostSimulated = 64;  ///< of the fastest by estimate, for a number of GPUs

struct PlanSearchOptions {
  std::optional<std::chrono::duration<double>> budget;  ///< none: until all is estimated
  std::size_t jobs = 1;
  std::size_t keep = 5;  ///< plans to report
  /// Only the fastest of each number of GPUs: neither the front nor the scenario's own plan is simulated.
  bool is_only_fastest = false;
};

/// Estimates every candidate from probes of its stage, then simulates the best by estimate: the fastest of
/// each number of GPUs and what shows the front (next_of_front()), and on until no estimate is closer to the
/// best than estimates have been too slow, but at most kMostSimulated of a number of GPUs. @pre the process
/// has one thread
/// @throws InputError where the scenario cannot be built
[[nodiscard]] PlanSearchResult search_plans(PlanEvaluator& evaluator, const PlanSpace& space,
                                            const PlanSearchOptions& options, const Progress& progress);

}  // namespace lockstep
