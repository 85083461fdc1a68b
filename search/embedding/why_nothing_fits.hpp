#pragma once

#include <span>
#include <string>

#include "search/embedding/candidates.hpp"

namespace lockstep {

/// Why no plan fits, in numbers: what the leanest of @p made, plans that memory did not suffice for, needs in
/// the step; else the table that is too large wherever it is put, or all tables beside what there is. What
/// would help is named where it was looked at and does.
[[nodiscard]] std::string why_nothing_fits(const ShardingProblem& problem,
                                           std::span<const Candidate> made = {});

}  // namespace lockstep
