#include "schedule/step_figures.hpp"

#include <algorithm>
#include <numeric>

#include "ops/model_flops.hpp"
#include "scenario/figures.hpp"
#include "scenario/memory_demand.hpp"
#include "scenario/time_shares.hpp"
#include "scenario/trust.hpp"
#include "schedule/model_tensors.hpp"

namespace lockstep {
namespace {

StepPart part_of(CollectiveKind kind) {
  switch (kind) {
    case CollectiveKind::AllReduce:
    case CollectiveKind::ReduceScatter:
    case CollectiveKind::AllGather:
      return StepPart::AllReduce;
    case CollectiveKind::AllToAll:
      return StepPart::AllToAll;
    default:
      return StepPart::Messages;
  }
}

StepPart part_of_collective(const std::string& name) {
  for (const CollectiveKind kind : {CollectiveKind::AllReduce, CollectiveKind::ReduceScatter,
                                    CollectiveKind::AllGather, CollectiveKind::AllToAll}) {
    if (name == to_string(kind)) {
      return part_of(kind);
    }
  }
  return StepPart::Messages;
}

/// Part that a kernel counts to; @p family is that of its model (ops/kernels/).
StepPart part_of_kernel(const std::string& family) {
  // Workloads write no work of a given duration; sparse products are (zeros.hpp).
  if (family == "gemm" || family == "convolution" || family == "flash attention" || family == "timed") {
    return StepPart::Products;
  }
  return family == "embedding bags" || family == "embedding cache" || family == "index select"
             ? StepPart::Embedding
             : StepPart::OtherKernels;
}

void add_kernels(const CriticalShare& share, StepParts& parts) {
  const double known = std::accumulate(share.predictions.begin(), share.predictions.end(), 0.0,
                                       [](double sum, const auto& each) { return sum + each.seconds; });
  if (!(known > 0)) {
    parts[static_cast<std::size_t>(StepPart::OtherKernels)] += share.seconds;
    return;
  }
  for (const PathPrediction& each : share.predictions) {
    parts[static_cast<std::size_t>(part_of_kernel(each.family))] += share.seconds * each.seconds / known;
  }
}

StepParts path_parts(const std::vector<CriticalShare>& path) {
  StepParts parts{};
  const auto add = [&](StepPart part, double seconds) { parts[static_cast<std::size_t>(part)] += seconds; };
  for (const CriticalShare& share : path) {
    switch (share.part) {
      case PathPart::Kernel:
        add_kernels(share, parts);
        break;
      case PathPart::Copy:
        add(StepPart::Copies, share.seconds);
        break;
      case PathPart::Collective:
        add(part_of_collective(share.what), share.seconds);
        break;
      case PathPart::LaunchLatency:
      case PathPart::KernelGap:
        add(StepPart::Launches, share.seconds);
        break;
      default:
        add(StepPart::Host, share.seconds);
    }
  }
  return parts;
}

StepParts gpu_parts(const ResolvedScenario& resolved, const SimulationResult& result) {
  StepParts parts{};
  const auto add = [&](StepPart part, double seconds) { parts[static_cast<std::size_t>(part)] += seconds; };
  for (const TimeShare& share : time_shares(resolved, result)) {
    switch (share.part) {
      case TimePart::Compute:
      case TimePart::Done:
        add(StepPart::Products, share.seconds);
        break;
      case TimePart::Exposed:
      case TimePart::Waiting:
        add(part_of(share.collective), share.seconds);
        break;
      case TimePart::Copies:
        add(StepPart::Copies, share.seconds);
        break;
      case TimePart::HostIdle:
        add(StepPart::Host, share.seconds);
        break;
    }
  }
  return parts;
}

/// Parameters of transformers in which all see every token.
std::optional<double> parameters_of(const ResolvedScenario& resolved) {
  const ModelSpec& model = *resolved.scenario.workload->model;
  const ModelTensors tensors = model_tensors(model);
  return model.is_transformer() && tensors.expert.empty() ? std::optional{tensors.elements()} : std::nullopt;
}

}  // namespace

StepPart StepFigures::bound_by() const {
  return static_cast<StepPart>(std::ranges::max_element(parts) - parts.begin());
}

StepFigures step_figures(const ResolvedScenario& resolved, const SimulationResult& result) {
  StepFigures figures;
  figures.step = result.mean_step().in_base_units();
  figures.band = step_band(resolved, result);
  figures.along_path = !result.critical_path.empty();
  figures.parts = scaled_to(
      figures.along_path ? path_parts(result.critical_path) : gpu_parts(resolved, result), figures.step);
  figures.flops = model_flops(resolved.job).in_base_units();
  figures.busy = std::min(1.0, gpu_busy_per_step(result, resolved.job.steps) / figures.step);
  figures.ranks = resolved.job.ranks.size();
  const Figures rates = figures_of(resolved, result);
  figures.samples = static_cast<double>(resolved.scenario.workload->global_batch);
  if (rates.tokens_per_s) {
    figures.tokens = *rates.tokens_per_s * figures.step;
  }
  if (const auto fullest = fullest_rank(resolved)) {
    figures.memory = FilledMemory{fullest->memory.total(), fullest->capacity};
  }
  figures.parameters = parameters_of(resolved);
  return figures;
}

}  // namespace lockstep
