#include "search/embedding/step_simulator.hpp"

#include <algorithm>
#include <future>

#include "scenario/memory_demand.hpp"

namespace lockstep {

/// What one thread simulates with.
class StepSimulator::Bench {
 public:
  explicit Bench(const ShardingProblem& problem)
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
  std::optional<Seconds> step_time(const EmbeddingPlan& plan) {
    try {
      resolved_.job = problem_.job_under(plan);
      check_memory(resolved_);
    } catch (const OutOfMemoryError&) {
      return std::nullopt;
    } catch (const TablesDoNotFit&) {
      return std::nullopt;
    }
    return simulate(input_, options_, nullptr).mean_step();
  }

  [[nodiscard]] const std::vector<KnownKernels>& kernels() const { return known_; }

 private:
  const ShardingProblem& problem_;
  ResolvedScenario resolved_;
  CollectivePlanner planner_;
  std::vector<KnownKernels> known_;
  SimulationInput input_;
  SimulationOptions options_;
};

StepSimulator::StepSimulator(const ShardingProblem& problem, std::size_t jobs)
    : problem_{problem}, jobs_{std::max<std::size_t>(jobs, 1)} {
  bench(0);
}

StepSimulator::~StepSimulator() = default;

StepSimulator::Bench& StepSimulator::bench(std::size_t number) {
  while (benches_.size() <= number) benches_.push_back(std::make_unique<Bench>(problem_));
  return *benches_[number];
}

const std::vector<KnownKernels>& StepSimulator::kernels() const {
  return benches_.front()->kernels();
}

std::optional<Seconds> StepSimulator::step_time(const EmbeddingPlan& plan) {
  const std::optional<Seconds> step = bench(0).step_time(plan);
  count(step);
  return step;
}

std::vector<std::optional<Seconds>> StepSimulator::step_times(std::span<const EmbeddingPlan> plans) {
  std::vector<std::future<std::optional<Seconds>>> others;
  std::vector<std::optional<Seconds>> steps(plans.size());
  for (std::size_t first = 0; first < plans.size(); first += jobs_) {
    const std::size_t at_once = std::min(jobs_, plans.size() - first);
    others.clear();
    for (std::size_t i = 1; i < at_once; ++i) {
      Bench& of_thread = bench(i);
      others.push_back(std::async(std::launch::async, [&of_thread, &plan = plans[first + i]] {
        return of_thread.step_time(plan);
      }));
    }
    steps[first] = bench(0).step_time(plans[first]);
    for (std::size_t i = 1; i < at_once; ++i) steps[first + i] = others[i - 1].get();
  }
  return steps;
}

}  // namespace lockstep
