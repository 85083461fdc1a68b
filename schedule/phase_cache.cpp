#include "schedule/phase_cache.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "scenario/memory_demand.hpp"
#include "schedule/model_tensors.hpp"
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

const SimulatedPhase& PhaseCache::of(const PhaseScenario& phase, const Timelines& timelines) {
  std::unique_ptr<SimulatedPhase>& known = known_[phase.meaning];
  if (!known) {
    known = in_phase(phase.name, [&] {
      auto fresh = std::make_unique<SimulatedPhase>(SimulatedPhase{build(phase.document, configs_), {}});
      check_memory(fresh->resolved);
      if (phase.mask) {
        fresh->resolved.job = masked(std::move(fresh->resolved.job), fresh->resolved.host,
                                     elements_of_rank(fresh->resolved.scenario));
      }
      fresh->figures = step_figures(fresh->resolved, predict_with(timelines, phase.name, fresh->resolved));
      return fresh;
    });
  }
  return *known;
}

Job masked(Job job, const HostOverheads& host, double elements) {
  constexpr double kMaskByte = 0.25;  // of an FP32 weight
  const KernelCall pass{"mask weights", DataType::FP32,
                        Pointwise{.elements = std::llround(elements), .reads = 1 + kMaskByte, .writes = 1}};
  for (std::shared_ptr<const Program>& program : job.programs) {
    auto longer = std::make_shared<Program>(*program);
    Instruction launch;
    launch.op = Opcode::Launch;
    launch.operand = static_cast<std::uint32_t>(longer->kernels.size());
    launch.cost = static_cast<float>(host.duration_of(RuntimeCall::LaunchKernel).in_base_units());
    longer->kernels.push_back(pass);
    longer->threads.front().instructions.push_back(launch);
    program = std::move(longer);
  }
  return job;
}

}  // namespace lockstep
