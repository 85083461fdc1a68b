#include "schedule/phase_cache.hpp"

#include <fmt/format.h>

#include "ops/model_flops.hpp"
#include "scenario/memory_demand.hpp"
#include "schedule/model_tensors.hpp"
#include "schedule/zeros.hpp"
#include "sim/stall.hpp"

namespace lockstep {
namespace {

/// Puts the phase's name before what goes wrong in it.
template <class Action>
auto in_phase(const std::string& name, Action action) {
  try {
    return action();
  } catch (const InputError& problem) {
    std::vector<Problem> problems = problem.problems();
    for (Problem& each : problems) {
      each.message = fmt::format("phase '{}': {}", name, each.message);
    }
    throw InputError{std::move(problems)};
  } catch (const OutOfMemoryError& problem) {
    throw OutOfMemoryError{fmt::format("phase '{}': {}", name, problem.what())};
  } catch (const StallError& problem) {
    throw StallError{fmt::format("phase '{}': {}", name, problem.what())};
  }
}

double elements_of_rank(const ScenarioSpec& scenario) {
  const TransformerPlanSpec& plan = scenario.parallelism.transformer;
  return model_tensors(*scenario.workload->model).elements() / (plan.tensor * plan.pipeline);
}

}  // namespace

SimulationResult predict_with(const Timelines& timelines, const std::string& name,
                              const ResolvedScenario& resolved) {
  const OpenTimeline open = [&](const std::vector<std::uint32_t>& simulated) {
    return timelines.open(name, resolved, simulated);
  };
  SimulationResult result = predict(resolved, open, EngineMode::Bare);
  timelines.close();
  return result;
}

namespace {

/// A phase's scenario with its zeros, which no key of a scenario has.
struct BuiltPhase {
  ResolvedScenario resolved;
  double flops = 0;  ///< of a step, all ranks
};

BuiltPhase built(const PhaseScenario& phase, const YamlDocument& document, const ConfigPath& configs) {
  BuiltPhase all{build(document, configs), 0};
  ResolvedScenario& resolved = all.resolved;
  const double elements = elements_of_rank(resolved.scenario);
  if (phase.mask) {
    resolved.job = masked(std::move(resolved.job), resolved.host, elements);
  }
  all.flops = model_flops(resolved.job).in_base_units();
  if (phase.sparsity) {
    Job thin = sparse(resolved, *phase.sparsity, elements, phase.at);
    all.flops = flops_with_zeros(resolved.job, thin).in_base_units();
    resolved.job = std::move(thin);
  }
  check_memory(resolved);
  return all;
}

bool draws_jitter(const ScenarioSpec& scenario) {
  const VariationSpec& vary = scenario.vary;
  return vary.kernels.distribution != Distribution::None || vary.host.distribution != Distribution::None ||
         !vary.noise.empty();
}

/// The mean of figures that differ by seed alone; the band is the first one's, about the mean step.
StepFigures mean_of(const std::vector<StepFigures>& figures) {
  StepFigures mean = figures.front();
  const auto count = static_cast<double>(figures.size());
  mean.step = mean.busy = 0;
  mean.parts = {};
  for (const StepFigures& each : figures) {
    mean.step += each.step / count;
    mean.busy += each.busy / count;
    for (std::size_t part = 0; part < kStepParts; ++part) {
      mean.parts[part] += each.parts[part] / count;
    }
  }
  return mean;
}

}  // namespace

StepFigures PhaseCache::figures_of_seeds(const PhaseScenario& phase, const SimulatedPhase& first) const {
  std::vector<StepFigures> figures{first.figures};
  const ScenarioSpec& scenario = first.resolved.scenario;
  const OpenTimeline silent = [](const std::vector<std::uint32_t>&) { return TimelineRequest{}; };
  for (int more = 1; more < seeds_ && draws_jitter(scenario); ++more) {
    YamlDocument document = phase.document;
    document.set("vary.seed", fmt::format("{}", scenario.vary.seed + static_cast<std::uint64_t>(more)));
    const BuiltPhase other = built(phase, document, configs_);
    figures.push_back(step_figures(other.resolved, predict(other.resolved, silent, EngineMode::Bare)));
  }
  return figures.size() == 1 ? first.figures : mean_of(figures);
}

const SimulatedPhase& PhaseCache::of(const PhaseScenario& phase, const Timelines& timelines) {
  std::unique_ptr<SimulatedPhase>& known = known_[phase.meaning];
  if (!known) {
    known = in_phase(phase.name, [&] {
      BuiltPhase whole = built(phase, phase.document, configs_);
      auto fresh = std::make_unique<SimulatedPhase>(SimulatedPhase{std::move(whole.resolved), {}});
      fresh->figures = step_figures(fresh->resolved, predict_with(timelines, phase.name, fresh->resolved));
      fresh->figures = figures_of_seeds(phase, *fresh);
      fresh->figures.flops = whole.flops;
      return fresh;
    });
  }
  return *known;
}

}  // namespace lockstep
