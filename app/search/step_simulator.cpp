#include "app/search/step_simulator.hpp"

#include "app/memory_report.hpp"

namespace lockstep {
StepSimulator::StepSimulator(const ShardingProblem& problem)
    : problem_{problem},
      setting_{problem.setting()},
      planner_{setting_.fabric, collective_options(setting_)},
      known_{nothing_known(setting_.gpu_models)},
      input_{simulation_input(setting_, planner_)},
      options_{step_end_options(setting_)} {
  input_.known_kernels = &known_;
}

/// A piece in the width of its table's narrowest is several, each with sums of its rows: more than the judge
/// counts, so that a plan of its may not fit.
std::optional<Seconds> StepSimulator::step_time(const EmbeddingPlan& plan) {
  try {
    setting_.job = problem_.job_under(plan);
    check_memory(setting_);
  } catch (const OutOfMemoryError&) {
    return std::nullopt;
  } catch (const TablesDoNotFit&) {
    return std::nullopt;
  }
  ++simulations_;
  return simulate(input_, options_, nullptr).mean_step();
}

}  // namespace lockstep
