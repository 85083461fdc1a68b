#pragma once

#include <string>
#include <vector>

#include "scenario/prediction.hpp"

namespace lockstep {

/// Tensor, context and expert groups of a workload whose ranks are not all in one NVLink domain, a sentence
/// for each kind: how many, at which bandwidth they exchange across and inside, and how they would stay
/// inside. Machines without NVLink have no domains to leave.
[[nodiscard]] std::vector<std::string> straddling_groups(const ResolvedScenario& resolved);

}  // namespace lockstep
