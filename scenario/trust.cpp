#include "scenario/trust.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "ops/collectives/collective.hpp"
#include "ops/kernel_model.hpp"
#include "ops/workload/allocator_calls.hpp"
#include "ops/workload/batch_loader.hpp"
#include "ops/workload/optimizer_host.hpp"
#include "ops/workload/parallel/host_optimizer.hpp"
#include "ops/workload/parallel/module_hooks.hpp"
#include "scenario/time_shares.hpp"
#include "sim/compiled_program.hpp"

namespace lockstep {
namespace {

PathPrediction resting_on(const Evidence& evidence, const std::string& family, double seconds) {
  return {family, seconds, half_width(evidence), evidence.is};
}

/// A prediction of the scenario's own numbers: no model, so no band.
PathPrediction as_given(double seconds) {
  return {"given by the scenario", seconds, 0, Provenance::Guessed};
}

/// Durations and gaps of a trace are what was recorded, whatever host and GPU the scenario names.
bool is_recorded(const ResolvedScenario& resolved) {
  return resolved.scenario.trace && !resolved.has_launches;
}

PathPrediction as_recorded(const char* family, double seconds) {
  return {family, seconds, 0, Provenance::Measured};
}

/// A host's piece is named after the operator around it.
PathPrediction host_work(const ResolvedScenario& resolved, const CriticalShare& share) {
  const std::string& name = share.operation;
  if (name == kDataLoading || name == kPrepareBatch) {
    return as_given(share.seconds);
  }
  if (name == kMallocCall || name == kFreeCall) {
    return resting_on(evidence_for(resolved.host.provenance,
                                   name == kMallocCall ? "runtime_calls.malloc" : "runtime_calls.free"),
                      "calls of the allocator", share.seconds);
  }
  if (name == kCpuAdam) {
    return {"Adam on the CPU", share.seconds, HostOptimizer::kError, Provenance::Fitted};
  }
  if (name == kModuleHooks) {
    return {"DeepSpeed's hooks", share.seconds, ModuleHooks::kError, Provenance::Fitted};
  }
  if (name == kOptimizerHost) {
    return {"torch.optim in Python", share.seconds, OptimizerHost::kError, Provenance::Fitted};
  }
  const bool is_listed = resolved.host.operators.contains(name);
  return resting_on(evidence_for(resolved.host.provenance, is_listed ? "operators" : "fallback"),
                    is_listed ? "host operators" : "host operators not listed", share.seconds);
}

/// The prediction of all on the path that is neither kernel nor collective.
PathPrediction other_part(const ResolvedScenario& resolved, const CriticalShare& share) {
  if (is_recorded(resolved) && share.part != PathPart::Noise) {
    const bool on_gpu = share.part == PathPart::LaunchLatency || share.part == PathPart::KernelGap;
    return as_recorded(on_gpu ? "gaps as recorded" : "host as recorded", share.seconds);
  }
  const ProvenanceTable& gpu = resolved.gpu_models.front().provenance;
  switch (share.part) {
    case PathPart::LaunchLatency:
      return resting_on(evidence_for(gpu, "launch_to_start"), "launch latency", share.seconds);
    case PathPart::KernelGap:
      return resting_on(evidence_for(gpu, "kernel_gap"), "gap between kernels", share.seconds);
    case PathPart::HostReturn:
      return resting_on(evidence_for(resolved.host.provenance, "synchronize_return"), "return from waits",
                        share.seconds);
    case PathPart::Noise:
      return as_given(share.seconds);
    default:
      return host_work(resolved, share);
  }
}

/// Kernels and collectives that no model answered for (a trace's collective without a plan) are guesses.
std::vector<PathPrediction> of_share(const ResolvedScenario& resolved, const CriticalShare& share) {
  const bool has_model =
      share.part == PathPart::Kernel || share.part == PathPart::Copy || share.part == PathPart::Collective;
  if (!has_model) {
    return {other_part(resolved, share)};
  }
  return share.predictions.empty() ? std::vector{resting_on(Evidence{}, "without a model", share.seconds)}
                                   : share.predictions;
}

struct RankKernels {
  std::vector<PathPrediction> predictions;  ///< one each kernel call
  OutOfRange out_of_range;
};

/// The launches of rank 0.
RankKernels kernels_of_first_rank(const ResolvedScenario& resolved) {
  const RankAssignment& rank = resolved.job.ranks.front();
  const Program& program = *resolved.job.programs[rank.program];
  const std::vector<KernelTiming> timings =
      time_kernels(program, resolved.gpu_models[resolved.gpu_model_of_rank.front()]);
  RankKernels found;
  std::map<std::uint32_t, double> seconds;
  double whole = 0;
  for (const Program::Thread& thread : program.threads) {
    for (const Instruction& instruction : thread.instructions) {
      if (instruction.op != Opcode::Launch) {
        continue;
      }
      const auto kernel = instruction.per_rank ? rank.kernel_slots[instruction.operand] : instruction.operand;
      const KernelTiming& timing = timings[kernel];
      seconds[kernel] += timing.seconds;
      whole += timing.seconds;
      if (!timing.in_range) {
        found.out_of_range.share += timing.seconds;
        found.out_of_range.kernels.insert(program.kernels[kernel].name);
      }
      if (timing.fell_back) {
        found.out_of_range.fell_back += timing.seconds;
        found.out_of_range.fell_back_kernels.insert(program.kernels[kernel].name);
      }
    }
  }
  found.out_of_range.share /= whole > 0 ? whole : 1;
  found.out_of_range.fell_back /= whole > 0 ? whole : 1;
  for (const auto& [kernel, sum] : seconds) {
    const std::string model = model_for(program.kernels[kernel]).name();
    found.predictions.push_back(
        {model.substr(0, model.find(':')), sum, timings[kernel].band, timings[kernel].provenance});
  }
  return found;
}

/// The usual algorithm of a kind of collective, over the slowest links of the job.
const Evidence& usual_evidence(const ResolvedScenario& resolved, const std::string& kind) {
  const bool is_direct = kind == "all_to_all" || kind == "send" || kind == "receive";
  const bool has_network = std::ranges::any_of(
      resolved.fabric.links(), [](const Link& link) { return link.kind == LinkKind::Network; });
  return evidence_for(resolved.profile.provenance, fmt::format("{}.Simple.{}", is_direct ? "direct" : "ring",
                                                               has_network ? "network" : "nvlink"));
}

/// A step without a recorded path: GPU time of a mean rank, part by part.
std::vector<PathPrediction> of_parts(const ResolvedScenario& resolved, const SimulationResult& result) {
  std::vector<PathPrediction> all;
  double kernels = 0;  // and waiting for others, whose kernels take longer
  for (const TimeShare& share : time_shares(resolved, result)) {
    if (share.part == TimePart::Exposed) {
      const std::string kind = to_string(share.collective);
      all.push_back(resting_on(usual_evidence(resolved, kind), kind, share.seconds));
    } else if (share.part == TimePart::HostIdle) {
      all.push_back(is_recorded(resolved) ? as_recorded("host as recorded", share.seconds)
                                          : resting_on(evidence_for(resolved.host.provenance, "operators"),
                                                       "host operators", share.seconds));
    } else {
      kernels += share.seconds;
    }
  }
  std::vector<PathPrediction> launched = kernels_of_first_rank(resolved).predictions;
  double whole = 0;
  for (const PathPrediction& kernel : launched) {
    whole += kernel.seconds;
  }
  for (PathPrediction& kernel : launched) {
    kernel.seconds *= whole > 0 ? kernels / whole : 0;
    all.push_back(std::move(kernel));
  }
  return all;
}

}  // namespace

std::vector<PathPrediction> predictions_of(const ResolvedScenario& resolved, const SimulationResult& result) {
  if (result.critical_path.empty()) {
    return of_parts(resolved, result);
  }
  std::vector<PathPrediction> all;
  for (const CriticalShare& share : result.critical_path) {
    std::ranges::move(of_share(resolved, share), std::back_inserter(all));
  }
  return all;
}

StepBand step_band(const ResolvedScenario& resolved, const SimulationResult& result) {
  StepBand band = step_band(predictions_of(resolved, result));
  band.omitted = omitted_work(resolved.scenario).share;
  return band;
}

OmittedWork omitted_work(const ScenarioSpec& scenario) {
  // The longest of 19 published steps of both loops takes 2.12 times what is predicted (dlrm_torchrec_a100,
  // dlrm_tensorflow). With so few, a third more than they ask for.
  constexpr double kShare = 0.85;
  const bool is_dlrm = scenario.workload && scenario.workload->model->dlrm;
  if (!is_dlrm) return {};
  switch (scenario.workload->model->dlrm->implementation) {
    case DlrmImplementation::TorchRec:
      return {"TorchRec's Python and the loader in its process", kShare};
    case DlrmImplementation::TensorFlow:
      return {"TensorFlow's executor and data pipeline", kShare};
    default:
      return {};
  }
}

OutOfRange kernels_out_of_range(const ResolvedScenario& resolved) {
  return kernels_of_first_rank(resolved).out_of_range;
}

Provenance provenance_of(const GpuSpec& gpu) {
  return std::max(evidence_for(gpu.provenance, "efficiency").is,
                  evidence_for(gpu.efficiency->provenance, "memory").is);
}

Provenance provenance_of(const ResolvedScenario& resolved, const CriticalShare& share) {
  const std::vector<PathPrediction> predictions = of_share(resolved, share);
  return std::ranges::max_element(predictions, {}, &PathPrediction::provenance)->provenance;
}

}  // namespace lockstep
