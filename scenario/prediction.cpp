#include "scenario/prediction.hpp"

#include <fmt/format.h>

#include <limits>
#include <numeric>

#include "base/error.hpp"

namespace lockstep {
namespace {

Variation variation_of(const ResolvedScenario& resolved) {
  const VariationSpec& vary = resolved.scenario.vary;
  return {Jitter{vary.kernels}, Jitter{host_jitter(vary.host, resolved.host)},
          Random{vary.seed, "variation"}};
}

}  // namespace

SimulationOptions simulation_options(const ResolvedScenario& resolved) {
  const ScenarioSpec& scenario = resolved.scenario;
  SimulationOptions options;
  options.engine = scenario.engine == ScenarioEngine::S4u ? EngineMode::S4u : EngineMode::RunAhead;
  options.interference = scenario.interferes();
  if (!resolved.has_launches) {
    options.launch_queue = std::numeric_limits<std::uint32_t>::max();  // nodes wait for nothing else
  }
  options.fold = scenario.fold == ScenarioFold::Auto;
  options.network = scenario.network == ScenarioNetwork::Flows   ? NetworkMode::Flows
                    : scenario.network == ScenarioNetwork::Alone ? NetworkMode::Alone
                                                                 : NetworkMode::Shared;
  return options;
}

SimulationOptions step_end_options(const ResolvedScenario& resolved) {
  SimulationOptions options = simulation_options(resolved);
  options.engine = EngineMode::Bare;
  options.metered_ranks = 0;
  options.critical_path_limit = 0;
  return options;
}

std::vector<KnownKernels> nothing_known(const std::vector<GpuSpec>& models) {
  std::vector<KnownKernels> known;
  for (const GpuSpec& model : models) {
    known.emplace_back(model);
  }
  return known;
}

SimulationInput simulation_input(const ResolvedScenario& resolved, const CollectivePlanner& planner) {
  SimulationInput input;
  input.job = &resolved.job;
  input.fabric = &resolved.fabric;
  input.gpu_models = resolved.gpu_models;
  input.gpu_model_of_rank = resolved.gpu_model_of_rank;
  input.variation = variation_of(resolved);
  input.noise = noise_of(resolved.scenario.vary.noise, resolved.scenario.vary.seed);
  input.plan_collective = [&planner, &resolved](const CollectiveRequest& request,
                                                std::span<const VertexId> members) {
    try {
      return planner.plan(request, members);
    } catch (const std::invalid_argument& problem) {
      throw InputError{resolved.collectives_at, fmt::format("collectives: {}", problem.what())};
    }
  };
  input.gpu_factor.assign(resolved.job.ranks.size(), 1.0);
  input.host_factor.assign(resolved.job.ranks.size(), resolved.host_scale);
  for (const SlowRank& slow : resolved.scenario.vary.slow_ranks) {
    input.gpu_factor[static_cast<std::size_t>(slow.rank)] = slow.gpu;
    input.host_factor[static_cast<std::size_t>(slow.rank)] = slow.host * resolved.host_scale;
  }
  return input;
}

SimulationResult predict(const ResolvedScenario& resolved, const OpenTimeline& open_timeline,
                         std::optional<EngineMode> engine, const std::vector<std::string>& tracing) {
  const CollectivePlanner planner{resolved.fabric, collective_options(resolved)};
  const SimulationInput input = simulation_input(resolved, planner);
  SimulationOptions options = simulation_options(resolved);
  options.engine = engine.value_or(options.engine);
  options.tracing = tracing;
  Simulation simulation{input, options};
  const TimelineRequest timeline = open_timeline(simulation.simulated_ranks());
  if (timeline.loads) {
    simulation.observe_loads(timeline.loads);
  }
  return simulation.run(timeline.sink, timeline.ranks);
}

SimulationResult predict(const ResolvedScenario& resolved, TimelineSink* timeline,
                         std::optional<EngineMode> engine) {
  TimelineRequest everything{timeline, std::vector<std::uint32_t>(resolved.job.ranks.size()), {}};
  std::iota(everything.ranks.begin(), everything.ranks.end(), 0U);
  return predict(
      resolved, [&](const std::vector<std::uint32_t>& /*simulated*/) { return everything; }, engine);
}

}  // namespace lockstep
