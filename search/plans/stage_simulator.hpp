#pragma once

#include <cstdint>
#include <vector>

#include "scenario/prediction.hpp"
#include "search/plans/stage_probe.hpp"
#include "sim/known_kernels.hpp"

namespace lockstep {

/// Simulates the stages of one scenario's plans. What they have in common is worked out once: routed traffic
/// of collectives, and the times of kernels.
class StageSimulator {
 public:
  /// @param resolved the scenario, built; its job is of no account
  explicit StageSimulator(const ResolvedScenario& resolved);
  StageSimulator(const StageSimulator&) = delete;
  StageSimulator& operator=(const StageSimulator&) = delete;

  /// The simulations of a probe, without what the scenario varies, and with links that are shared in place of
  /// SimGrid's flows. @throws InputError, StallError
  [[nodiscard]] ProbeAnswers answers(const StageProbe& probe);

 private:
  [[nodiscard]] bool waits_for_device(const TransformerPlanSpec& plan) const;
  [[nodiscard]] Job job_of(const StageProbe& probe, ProbeSize size) const;

  ResolvedScenario resolved_;
  std::vector<std::uint32_t> gpu_model_of_rank_;  // of all GPUs
  CollectivePlanner planner_;                     // of the setting's fabric
  std::vector<KnownKernels> known_;
};

}  // namespace lockstep
