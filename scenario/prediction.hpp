#pragma once

/// @file
/// From a resolved scenario to its result.

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "ops/collectives/collective_planner.hpp"
#include "scenario/resolved_scenario.hpp"
#include "sim/known_kernels.hpp"
#include "sim/simulation.hpp"

namespace lockstep {

/// The scenario as a simulation takes it; what it points to is the scenario's and the planner's.
[[nodiscard]] SimulationInput simulation_input(const ResolvedScenario& resolved,
                                               const CollectivePlanner& planner);
[[nodiscard]] SimulationOptions simulation_options(const ResolvedScenario& resolved);
/// For many simulations of which only the steps' ends are wanted: neither critical path nor activity.
[[nodiscard]] SimulationOptions step_end_options(const ResolvedScenario& resolved);
/// Empty lists of known kernels by GPU model, for SimulationInput::known_kernels.
[[nodiscard]] std::vector<KnownKernels> nothing_known(const std::vector<GpuSpec>& models);

/// @param engine in place of the scenario's: EngineMode::Bare for many predictions in one process
/// @throws StallError
[[nodiscard]] SimulationResult predict(const ResolvedScenario& resolved, TimelineSink* timeline,
                                       std::optional<EngineMode> engine = std::nullopt);

/// Who listens to a run.
struct TimelineRequest {
  TimelineSink* sink = nullptr;      ///< null: nobody
  std::vector<std::uint32_t> ranks;  ///< whose spans it gets; empty: those simulated
  LoadObserver loads{};              ///< hears of what links carry; may be empty
};
/// Asked when it is known which ranks are simulated: all, or one for each class of alike ones.
using OpenTimeline = std::function<TimelineRequest(const std::vector<std::uint32_t>& simulated)>;
/// @param tracing as SimulationOptions has it
[[nodiscard]] SimulationResult predict(const ResolvedScenario& resolved, const OpenTimeline& open_timeline,
                                       std::optional<EngineMode> engine = std::nullopt,
                                       const std::vector<std::string>& tracing = {});

}  // namespace lockstep
