#include "search/embedding/own_plan.hpp"

#include <string>
#include <utility>

#include "search/embedding/movable_pieces.hpp"

namespace lockstep {

std::optional<Candidate> own_plan(const ShardingProblem& problem, StepSimulator& simulator) {
  const auto& given = problem.resolved().scenario.parallelism.embedding.plan;
  if (!given) {
    return std::nullopt;
  }
  Candidate own{std::string{kOwnPlan}, given->value, {}, 0};
  try {
    own.step = simulator.step_time(own.plan);
  } catch (const InputError& error) {
    own.why_no_step = "does not fit the scenario: " + error.problems().front().message;
    return own;
  }
  if (!own.step) {
    own.why_no_step = "needs more memory than there is";
    return own;
  }
  make_movable(problem, own);
  return own;
}

}  // namespace lockstep
