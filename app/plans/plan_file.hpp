#pragma once

#include <filesystem>
#include <string>

#include "search/plans/plan_evaluator.hpp"

namespace lockstep {

/// A plan as a scenario: it includes the scenario that was searched, and says what the plan decides and what
/// the command line set. Of a scenario with configurations beside it, which another file would not find, all
/// parameters.
/// @param scenario its file
[[nodiscard]] std::string plan_file_text(const PlanEvaluator& evaluator, const PlanCandidate& candidate,
                                         const std::filesystem::path& scenario);

}  // namespace lockstep
