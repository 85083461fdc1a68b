#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "calibration/step_band.hpp"
#include "scenario/prediction.hpp"
#include "scenario/sensitivity.hpp"
#include "scenario/time_shares.hpp"

namespace lockstep {

/// `1 rank`, `8 ranks`
[[nodiscard]] std::string plural(std::size_t count, const std::string& what);

/// `compute`, `exposed all_reduce`, `waiting in all_to_all`, `copies`, `done before others`, `host-bound
/// idle`
[[nodiscard]] std::string name_of(const TimeShare& share);

/// One sentence: what bounds the step, and by how much.
[[nodiscard]] std::string bottleneck(const ResolvedScenario& resolved, const SimulationResult& result);

/// `what a step rests on`, a line for each provenance with its part of the step and the families behind it.
[[nodiscard]] std::string trust_lines(const StepBand& band);

/// The one-screen answer: step time, bottleneck, where the time went, critical path, busiest links. The same
/// bytes for the same scenario.
/// @param sensitivity empty where it was not asked for: what 10 % more of each resource would buy
[[nodiscard]] std::string report(const ResolvedScenario& resolved, const SimulationResult& result,
                                 const Sensitivity& sensitivity = {});

}  // namespace lockstep
