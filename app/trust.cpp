#include "app/trust.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "app/answer.hpp"
#include "ops/collectives/collective.hpp"
#include "ops/kernel_model.hpp"
#include "ops/workload/allocator_calls.hpp"
#include "ops/workload/batch_loader.hpp"
#include "ops/workload/optimizer_host.hpp"
#include "ops/workload/parallel/host_optimizer.hpp"
#include "ops/workload/parallel/module_hooks.hpp"
#include "sim/compiled_program.hpp"

namespace lockstep {
namespace {

PathPrediction resting_on(const Evidence& evidence, const std::string& family, double seconds) {
  return {family, seconds, half_width(evidence), evidence.is};
}

/// What the scenario itself states: no model, so no band.
PathPrediction as_given(double seconds) {
  return {"given by the scenario", seconds, 0, Provenance::Guessed};
}

/// Durations and gaps of a trace are what was recorded, whatever host and GPU the scenario names.
bool is_recorded(const Setting& setting) {
  return setting.scenario.trace && !setting.has_launches;
}

PathPrediction as_recorded(const char* family, double seconds) {
  return {family, seconds, 0, Provenance::Measured};
}

/// A host's piece is named after the operator around it.
PathPrediction host_work(const Setting& setting, const CriticalShare& share) {
  const std::string prefix = "host: ";
  const std::string name = share.what.starts_with(prefix) ? share.what.substr(prefix.size()) : std::string{};
  if (name == kDataLoading || name == kPrepareBatch) {
    return as_given(share.seconds);
  }
  if (name == kMallocCall || name == kFreeCall) {
    return resting_on(evidence_for(setting.host.provenance,
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
  const bool is_listed = setting.host.operators.contains(name);
  return resting_on(evidence_for(setting.host.provenance, is_listed ? "operators" : "fallback"),
                    is_listed ? "host operators" : "host operators not listed", share.seconds);
}

/// What is on the path and neither kernel nor collective: one prediction.
PathPrediction other_part(const Setting& setting, const CriticalShare& share) {
  if (is_recorded(setting) && share.part != PathPart::Noise) {
    const bool on_gpu = share.part == PathPart::LaunchLatency || share.part == PathPart::KernelGap;
    return as_recorded(on_gpu ? "gaps as recorded" : "host as recorded", share.seconds);
  }
  const ProvenanceTable& gpu = setting.gpu_models.front().provenance;
  switch (share.part) {
    case PathPart::LaunchLatency:
      return resting_on(evidence_for(gpu, "launch_to_start"), "launch latency", share.seconds);
    case PathPart::KernelGap:
      return resting_on(evidence_for(gpu, "kernel_gap"), "gap between kernels", share.seconds);
    case PathPart::HostReturn:
      return resting_on(evidence_for(setting.host.provenance, "synchronize_return"), "return from waits",
                        share.seconds);
    case PathPart::Noise:
      return as_given(share.seconds);
    default:
      return host_work(setting, share);
  }
}

/// Kernels and collectives that no model answered for (a trace's collective without a plan) are guesses.
std::vector<PathPrediction> of_share(const Setting& setting, const CriticalShare& share) {
  const bool has_model =
      share.part == PathPart::Kernel || share.part == PathPart::Copy || share.part == PathPart::Collective;
  if (!has_model) {
    return {other_part(setting, share)};
  }
  return share.predictions.empty() ? std::vector{resting_on(Evidence{}, "without a model", share.seconds)}
                                   : share.predictions;
}

struct RankKernels {
  std::vector<PathPrediction> predictions;  ///< one each kernel call
  OutOfRange out_of_range;
};

/// The launches of rank 0.
RankKernels kernels_of_first_rank(const Setting& setting) {
  const RankAssignment& rank = setting.job.ranks.front();
  const Program& program = *setting.job.programs[rank.program];
  const std::vector<KernelTiming> timings =
      time_kernels(program, setting.gpu_models[setting.gpu_model_of_rank.front()]);
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
const Evidence& usual_evidence(const Setting& setting, const std::string& kind) {
  const bool is_direct = kind == "all_to_all" || kind == "send" || kind == "receive";
  const bool has_network = std::ranges::any_of(
      setting.fabric.links(), [](const Link& link) { return link.kind == LinkKind::Network; });
  return evidence_for(setting.profile.provenance, fmt::format("{}.Simple.{}", is_direct ? "direct" : "ring",
                                                              has_network ? "network" : "nvlink"));
}

/// A step without a recorded path: GPU time of a mean rank, part by part.
std::vector<PathPrediction> of_parts(const Setting& setting, const SimulationResult& result) {
  const std::string exposed = "exposed ";
  std::vector<PathPrediction> all;
  double kernels = 0;  // and waiting for others, whose kernels take longer
  for (const TimeShare& share : time_shares(setting, result)) {
    if (share.what.starts_with(exposed)) {
      const std::string kind = share.what.substr(exposed.size());
      all.push_back(resting_on(usual_evidence(setting, kind), kind, share.seconds));
    } else if (share.what == "host-bound idle") {
      all.push_back(is_recorded(setting) ? as_recorded("host as recorded", share.seconds)
                                         : resting_on(evidence_for(setting.host.provenance, "operators"),
                                                      "host operators", share.seconds));
    } else {
      kernels += share.seconds;
    }
  }
  std::vector<PathPrediction> launched = kernels_of_first_rank(setting).predictions;
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

std::vector<PathPrediction> predictions_of(const Setting& setting, const SimulationResult& result) {
  if (result.critical_path.empty()) {
    return of_parts(setting, result);
  }
  std::vector<PathPrediction> all;
  for (const CriticalShare& share : result.critical_path) {
    std::ranges::move(of_share(setting, share), std::back_inserter(all));
  }
  return all;
}

StepBand step_band(const Setting& setting, const SimulationResult& result) {
  return step_band(predictions_of(setting, result));
}

OutOfRange kernels_out_of_range(const Setting& setting) {
  return kernels_of_first_rank(setting).out_of_range;
}

Provenance provenance_of(const GpuSpec& gpu) {
  return std::max(evidence_for(gpu.provenance, "efficiency").is,
                  evidence_for(gpu.efficiency->provenance, "memory").is);
}

Provenance provenance_of(const Setting& setting, const CriticalShare& share) {
  const std::vector<PathPrediction> predictions = of_share(setting, share);
  return std::ranges::max_element(predictions, {}, &PathPrediction::provenance)->provenance;
}

std::string trust_lines(const StepBand& band) {
  constexpr std::size_t kFamilies = 4;  // named in a line
  std::string text = "\nwhat it rests on\n";
  for (const auto& [provenance, name] : names_of(Provenance{})) {
    const auto number = static_cast<std::size_t>(provenance);
    const double seconds = band.by_provenance[number];
    if (seconds <= 0) {
      continue;
    }
    std::vector<FamilyBand> families = band.families;
    std::erase_if(families, [&](const FamilyBand& family) { return family.by_provenance[number] <= 0; });
    std::ranges::stable_sort(families, std::ranges::greater{},
                             [&](const FamilyBand& family) { return family.by_provenance[number]; });
    std::vector<std::string> names;
    for (std::size_t i = 0; i < std::min(kFamilies, families.size()); ++i) {
      names.push_back(families[i].family);
    }
    text += fmt::format("  {:<40}{:>12}  {:>5.1f} %  {}{}\n", name, to_string(Seconds{seconds}),
                        100 * seconds / band.seconds, fmt::join(names, ", "),
                        families.size() > kFamilies ? ", ..." : "");
  }
  return text;
}

}  // namespace lockstep
