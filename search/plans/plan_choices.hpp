#pragma once

#include <string>
#include <vector>

#include "search/plans/plan_space.hpp"

namespace lockstep {

/// The space with only these choices of one key, given as in YAML: `tensor`, {"4", "8"}.
/// @throws std::invalid_argument for a key that is not searched, or a value that it has not
[[nodiscard]] PlanSpace restricted(PlanSpace space, const std::string& key,
                                   const std::vector<std::string>& values);

}  // namespace lockstep
