#include "search/plans/stage_simulator.hpp"

#include "search/plans/pass_clock.hpp"

namespace lockstep {
namespace {

/// Steps of a probe: the second one is the answer.
constexpr int kProbeSteps = 2;

ResolvedScenario without_what_varies(ResolvedScenario resolved) {
  resolved.scenario.vary = {};
  if (resolved.scenario.network == ScenarioNetwork::Flows) {
    resolved.scenario.network = ScenarioNetwork::Shared;  // flows are SimGrid's, and a process has one
  }
  return resolved;
}

}  // namespace

StageSimulator::StageSimulator(const ResolvedScenario& resolved)
    : resolved_{without_what_varies(resolved)},
      gpu_model_of_rank_{resolved_.gpu_model_of_rank},
      planner_{resolved_.fabric, collective_options(resolved_)},
      known_{nothing_known(resolved_.gpu_models)} {}

ProbeAnswers StageSimulator::answers(const StageProbe& probe) {
  const auto first = gpu_model_of_rank_.begin() + probe.first;
  resolved_.gpu_model_of_rank.assign(first, first + probe.gpus);
  ProbeAnswers answers{};
  const ProbeSizes sizes = sizes_of(probe);
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i].waits && !waits_for_device(probe.plan)) {
      answers[i] = answers[i - 2];  // of as many layers and micro-batches
      continue;
    }
    resolved_.job = job_of(probe, sizes[i]);
    SimulationInput input = simulation_input(resolved_, planner_);
    input.known_kernels = &known_;
    SimulationOptions options = step_end_options(resolved_);
    options.metered_ranks = 1;
    PassClock clock{resolved_.job, kProbeSteps - 1};
    const bool many_layers = sizes[i].layers > sizes.front().layers;
    const SimulationResult result = simulate(input, options, many_layers ? &clock : nullptr);
    answers[i].step = result.mean_step().in_base_units();
    answers[i].compute = result.metered.front().activity.compute / kProbeSteps;
    answers[i].passes = clock.times();
    answers[i].pass_memory = resolved_.job.pass_memory.front();
    answers[i].update_memory = resolved_.job.update_memory.front();
  }
  return answers;
}

bool StageSimulator::waits_for_device(const TransformerPlanSpec& plan) const {
  return plan.waits_for_device() &&
         resolved_.scenario.workload->model->transformer->implementation == Implementation::Megatron;
}

/// The steps of one simulation.
Job StageSimulator::job_of(const StageProbe& probe, ProbeSize size) const {
  const std::vector<Bytes> memory(resolved_.fabric.gpus().size(), resolved_.gpu_models.front().usable());
  ParallelismSpec parallelism = resolved_.scenario.parallelism;
  parallelism.transformer = probe.plan;
  parallelism.transformer.waits_before_passes = size.waits;
  parallelism.ranks = probe.gpus;
  WorkloadSpec workload = *resolved_.scenario.workload;
  ModelSpec model = *workload.model;
  model.transformer->layers = size.layers;
  workload.model.value = model;
  workload.micro_batch = probe.micro_batch;
  workload.gradient_accumulation = 1;
  const int data = probe.gpus / (probe.plan.tensor * probe.plan.context);
  workload.global_batch = probe.micro_batch * data * size.micro_batches;
  Job job = make_job(workload, parallelism, resolved_.fabric, resolved_.host.at_speed(), memory);
  parallelism.ranks = probe.first + probe.gpus;
  const std::vector<VertexId> gpus =
      gpus_by_rank(place_ranks(parallelism, node_sizes(resolved_.fabric)), resolved_.fabric);
  for (std::size_t rank = 0; rank < job.ranks.size(); ++rank) {
    job.ranks[rank].gpu = gpus[static_cast<std::size_t>(probe.first) + rank];
  }
  job.steps = kProbeSteps;
  return job;
}

}  // namespace lockstep
