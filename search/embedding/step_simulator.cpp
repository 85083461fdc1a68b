#include "search/embedding/step_simulator.hpp"

#include "scenario/memory_demand.hpp"

namespace lockstep {
StepSimulator::StepSimulator(const ShardingProblem& problem)
    : problem_{problem},
      resolved_{problem.resolved()},
      planner_{resolved_.fabric, collective_options(resolved_)},
      known_{nothing_known(resolved_.gpu_models)},
      input_{simulation_input(resolved_, planner_)},
      options_{step_end_options(resolved_)} {
  input_.known_kernels = &known_;
}

/// A piece in the width of its table's narrowest is several, each with sums of its rows: more than the judge
/// counts, so that a plan of its may not fit.
std::optional<Seconds> StepSimulator::step_time(const EmbeddingPlan& plan) {
  try {
    resolved_.job = problem_.job_under(plan);
    check_memory(resolved_);
  } catch (const OutOfMemoryError&) {
    return std::nullopt;
  } catch (const TablesDoNotFit&) {
    return std::nullopt;
  }
  ++simulations_;
  return simulate(input_, options_, nullptr).mean_step();
}

}  // namespace lockstep
