#pragma once

/// @file
/// Options of the commands that search plans, from their text.

#include <chrono>
#include <string>
#include <vector>

#include "search/plans/plan_space.hpp"

namespace lockstep {

/// The usual space with only the choices of `--only tensor=4,8`.
/// @throws std::invalid_argument for a choice without values, and as restricted()
[[nodiscard]] PlanSpace space_with_only(const PlanProblem& problem, const std::vector<std::string>& only);

/// @throws std::invalid_argument for no time, e.g. `--budget 0s`
[[nodiscard]] std::chrono::duration<double> search_budget(const std::string& text);

}  // namespace lockstep
