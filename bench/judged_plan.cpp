// What a plan costs that a simulation judges, after a small change of the plan before: built and simulated
// anew, and by StepSimulator, which keeps what has not changed. Both give the same step.
//
//   judged_plan TABLES.json CLUSTER GPUS TABLES WIDEST [PLANS]        e.g. "dgx_h100 x 2" 16 200 128 200

#include <fmt/core.h>

#include <cstdlib>
#include <ctime>
#include <stdexcept>
#include <string>
#include <vector>

#include "bench/drawn_models.hpp"
#include "search/embedding/divisions.hpp"
#include "search/embedding/step_simulator.hpp"
#include "search/sharding/method.hpp"
#include "search/sharding/small_changes.hpp"

namespace {

using namespace lockstep;

/// Plans, each a small change of the one before.
std::vector<EmbeddingPlan> small_steps(const ShardingProblem& problem, std::size_t count) {
  const sharding::ModelCosts costs = problem.costs(1);
  sharding::Judge judge{problem.task(), costs};
  const auto start = sharding::method_called("neuroshard").search(judge, {});
  if (!start) {
    throw std::invalid_argument{"no plan fits"};
  }
  const Division all = everything(problem.task());
  sharding::DeviceState state{judge, *start};
  sharding::SmallChanges changes{1, "judged plan", true};
  std::vector<EmbeddingPlan> plans{sharding::embedding_plan_of(*start, all.placed, all.spread)};
  while (plans.size() < count) {
    if (changes.make(state, state.slowest())) {
      plans.push_back(sharding::embedding_plan_of(state.plan(), all.placed, all.spread));
    }
  }
  return plans;
}

/// Of processor time, for each plan.
template <class Work>
double milliseconds_of(const std::vector<EmbeddingPlan>& plans, const Work& work) {
  const std::clock_t start = std::clock();
  for (const EmbeddingPlan& plan : plans) {
    work(plan);
  }
  return 1e3 * static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC / static_cast<double>(plans.size());
}

void compare(const ShardingProblem& problem, const std::vector<EmbeddingPlan>& plans) {
  std::vector<std::optional<Seconds>> anew, kept;
  const double anew_ms =
      milliseconds_of(plans, [&](const EmbeddingPlan& plan) { anew.push_back(problem.step_time(plan)); });
  StepSimulator simulator{problem};
  const double kept_ms =
      milliseconds_of(plans, [&](const EmbeddingPlan& plan) { kept.push_back(simulator.step_time(plan)); });
  const double job_ms =
      milliseconds_of(plans, [&](const EmbeddingPlan& plan) { (void)problem.job_under(plan); });
  const KnownKernels& kernels = simulator.kernels().front();
  fmt::print(
      "{} plans: anew {:.3f} ms each, keeping {:.3f} ms ({:.2f} times as fast; {:.3f} ms of it build the "
      "Programs); {:.1f} of {:.1f} kernels predicted for each; {}\n",
      plans.size(), anew_ms, kept_ms, anew_ms / kept_ms, job_ms,
      static_cast<double>(kernels.predicted()) / static_cast<double>(plans.size()),
      static_cast<double>(kernels.asked()) / static_cast<double>(plans.size()),
      anew == kept ? "equal steps" : "STEPS DIFFER");
}

}  // namespace

int main(int count, char** arguments) {
  if (count < 6) {
    fmt::print(stderr, "judged_plan TABLES.json CLUSTER GPUS TABLES WIDEST [PLANS]\n");
    return 2;
  }
  try {
    const sharding::TableSet set = sharding::read_table_set(arguments[1]);
    DrawnModels drawing;
    drawing.cluster = arguments[2];
    drawing.gpus = std::atoi(arguments[3]);
    drawing.tables = std::strtoul(arguments[4], nullptr, 10);
    drawing.widest = std::strtol(arguments[5], nullptr, 10);
    const ShardingProblem problem{YamlDocument::from_text(scenario(set, drawing, 0), "drawn"),
                                  ConfigPath::standard()};
    compare(problem, small_steps(problem, count > 6 ? std::strtoul(arguments[6], nullptr, 10) : 200));
  } catch (const std::exception& problem) {
    fmt::print(stderr, "{}\n", problem.what());
    return 2;
  }
  return 0;
}
