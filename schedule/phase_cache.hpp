#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "schedule/phase_scenarios.hpp"
#include "schedule/step_figures.hpp"

namespace lockstep {

/// Who gets the timelines of what is simulated.
struct Timelines {
  /// @param name of the phase, or `A to B`
  /// @param simulated ranks
  std::function<TimelineRequest(const std::string& name, const ResolvedScenario& resolved,
                                const std::vector<std::uint32_t>& simulated)>
      open;
  std::function<void()> close;  ///< behind each that was opened
};

/// Simulates without SimGrid's engine, whose clock runs once in a process; the result is the same.
[[nodiscard]] SimulationResult predict_with(const Timelines& timelines, const std::string& name,
                                            const ResolvedScenario& resolved);

/// A phase's scenario, built and simulated.
struct SimulatedPhase {
  ResolvedScenario resolved;
  StepFigures figures;
};

/// Simulates one of all scenarios that are alike.
class PhaseCache {
 public:
  /// @param seeds of jitter, where a scenario draws any: figures are means over them
  PhaseCache(const ConfigPath& configs, int seeds) : configs_{configs}, seeds_{seeds} {}

  /// @param timelines asked when the phase is simulated, not when it is known
  /// @throws InputError, StallError and OutOfMemoryError that name the phase
  const SimulatedPhase& of(const PhaseScenario& phase, const Timelines& timelines);

 private:
  [[nodiscard]] StepFigures figures_of_seeds(const PhaseScenario& phase, const SimulatedPhase& first) const;

  const ConfigPath& configs_;
  int seeds_;
  std::map<std::string, std::unique_ptr<SimulatedPhase>> known_;
};

}  // namespace lockstep
