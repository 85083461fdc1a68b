#pragma once

#include <optional>
#include <string_view>

#include "search/embedding/candidates.hpp"
#include "search/embedding/step_simulator.hpp"

namespace lockstep {

/// The name of the plan that a scenario has already, among those of a search.
inline constexpr std::string_view kOwnPlan = "the scenario's own";

/// The plan in the scenario's `parallelism.embedding.plan`, simulated, with what of it is on single GPUs as
/// pieces that a search may move on; nothing where it has none. One that does not fit the scenario, or its
/// memory, has no step, and says why.
[[nodiscard]] std::optional<Candidate> own_plan(const ShardingProblem& problem, StepSimulator& simulator);

}  // namespace lockstep
