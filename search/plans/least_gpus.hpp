#pragma once

#include <functional>
#include <optional>

#include "base/units.hpp"
#include "search/plans/plan_space.hpp"

namespace lockstep {

constexpr int kMostGpus = 4096;  ///< that are looked at

/// The fewest GPUs, in whole nodes, on which a plan fits by memory_bound() of its fullest stage, which is
/// close for the leanest: 1F1B, micro-batches of one sample and full recomputation. @param more than so many
/// @param fits whether a GPU has it, with what is beside the bound
/// @return nothing: none up to kMostGpus
[[nodiscard]] std::optional<int> least_gpus(PlanProblem problem, int more,
                                            const std::function<bool(Bytes)>& fits);

}  // namespace lockstep
