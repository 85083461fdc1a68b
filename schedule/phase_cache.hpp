#pragma once

#include <map>
#include <memory>
#include <string>

#include "schedule/phase_scenarios.hpp"
#include "schedule/step_figures.hpp"

namespace lockstep {

/// A phase's scenario, built and simulated.
struct SimulatedPhase {
  ResolvedScenario resolved;
  StepFigures figures;
};

/// Of scenarios that are alike, one is simulated.
class PhaseCache {
 public:
  explicit PhaseCache(const ConfigPath& configs) : configs_{configs} {}

  /// @param open_timeline asked when the phase is simulated, not when it is known
  /// @throws InputError, StallError and OutOfMemoryError that name the phase
  const SimulatedPhase& of(const PhaseScenario& phase,
                           const std::function<TimelineSink*(const ResolvedScenario&)>& open_timeline);

 private:
  const ConfigPath& configs_;
  std::map<std::string, std::unique_ptr<SimulatedPhase>> known_;
};

/// Every Program with a pass over all weights at its end: a weight times its mask, a byte each.
[[nodiscard]] Job masked(Job job, const HostOverheads& host, double elements);

}  // namespace lockstep
