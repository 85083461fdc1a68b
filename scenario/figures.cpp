#include "scenario/figures.hpp"

#include "ops/model_flops.hpp"

namespace lockstep {
namespace {

constexpr double kSecondsPerHour = 3600;
constexpr double kMillion = 1e6;

std::optional<double> tokens_of_sample(const WorkloadSpec& workload) {
  if (workload.sequence) {
    return static_cast<double>(*workload.sequence);
  }
  if (workload.model->transformer) {
    return static_cast<double>(workload.model->transformer->sequence);
  }
  if (const auto& model = workload.model->encoder_decoder) {  // read and written ones
    return static_cast<double>(model->sequence + model->written_tokens());
  }
  if (workload.model->xlnet) {
    return static_cast<double>(workload.model->xlnet->sequence);
  }
  return std::nullopt;
}

}  // namespace

Figures figures_of(const ScenarioSpec& scenario, double step, std::size_t gpus, Seconds at_peak) {
  Figures figures;
  if (!scenario.workload) {
    return figures;
  }
  const WorkloadSpec& workload = *scenario.workload;
  figures.samples_per_s = static_cast<double>(workload.global_batch) / step;
  if (const auto tokens = tokens_of_sample(workload)) {
    figures.tokens_per_s = *figures.samples_per_s * *tokens;
  }
  if (at_peak > Seconds{0}) {
    figures.mfu = at_peak.in_base_units() / step;
  }
  if (const auto price = scenario.price_per_gpu_hour) {
    const double per_second = *price * static_cast<double>(gpus) / kSecondsPerHour;
    figures.cost_per_million = kMillion * per_second / figures.tokens_per_s.value_or(*figures.samples_per_s);
  }
  return figures;
}

Figures figures_of(const ResolvedScenario& resolved, const SimulationResult& result) {
  const bool has_workload = resolved.scenario.workload.has_value();
  return figures_of(resolved.scenario, result.mean_step().in_base_units(), resolved.job.ranks.size(),
                    has_workload ? time_at_peak(resolved.job, resolved.gpu_models, resolved.gpu_model_of_rank)
                                 : Seconds{0});
}

}  // namespace lockstep
