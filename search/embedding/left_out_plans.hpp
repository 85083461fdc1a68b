#pragma once

#include <string>
#include <vector>

#include "search/embedding/sharding_problem.hpp"

namespace lockstep {

/// Kinds of plans that the scenario does not run with, each with the reason, for the answer:
/// `cut and copied tables: bottom_mlp_placement: first_rank needs ...`. Searches leave them out.
[[nodiscard]] std::vector<std::string> left_out_plans(const ShardingProblem& problem);

/// Why no table can be kept in host memory; "" where it can.
[[nodiscard]] std::string why_not_in_host_memory(const ShardingProblem& problem);

}  // namespace lockstep
