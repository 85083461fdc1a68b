#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "schedule/phase_scenarios.hpp"
#include "schedule/step_figures.hpp"

namespace lockstep {

/// Who gets the timeline of what is simulated, and of which ranks.
/// @param name of the phase, or `A to B`
using TimelineOf = std::function<TimelineRequest(const std::string& name, const ResolvedScenario& resolved,
                                                 const std::vector<std::uint32_t>& simulated)>;

/// A phase's scenario, built and simulated.
struct SimulatedPhase {
  ResolvedScenario resolved;
  StepFigures figures;
};

/// Of scenarios that are alike, one is simulated.
class PhaseCache {
 public:
  explicit PhaseCache(const ConfigPath& configs) : configs_{configs} {}

  /// @param timeline asked when the phase is simulated, not when it is known
  /// @throws InputError, StallError and OutOfMemoryError that name the phase
  const SimulatedPhase& of(const PhaseScenario& phase, const TimelineOf& timeline);

 private:
  const ConfigPath& configs_;
  std::map<std::string, std::unique_ptr<SimulatedPhase>> known_;
};

/// Every Program with a pass over all weights at its end: a weight times its mask, a byte each.
[[nodiscard]] Job masked(Job job, const HostOverheads& host, double elements);

}  // namespace lockstep
