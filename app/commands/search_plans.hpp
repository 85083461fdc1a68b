#pragma once

#include <cstddef>
#include <functional>
#include <string>

#include "app/plans/plan_question.hpp"

namespace CLI {
class App;
}

namespace lockstep {

struct SearchPlansOptions : PlanQuestion {
  std::size_t keep = 5;
  std::string emit;  ///< framework whose launch flags are written; empty: none
};

/// Searches the parallel plans of a transformer's scenario: prints the best and the Pareto front, writes each
/// of the best as a scenario (plan_1.yaml, ...), plans.json and plans.svg. After Ctrl-C the best so far, then
/// the process ends by the signal.
/// @return exit code; 4 where no plan fits
/// @throws InputError, std::invalid_argument
int search_plans_command(const SearchPlansOptions& options);

/// Registers `lockstep plan`; when it was called, @p action runs it.
void add_plan_command(CLI::App& app, std::function<int()>& action);

}  // namespace lockstep
