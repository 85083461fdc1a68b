#pragma once

/// @file
/// Stages of unlike depth (`stage_layers`): fewer layers on slower GPUs, beside the embedding or the head, or
/// where memory is short.

#include <functional>
#include <optional>
#include <vector>

#include "base/units.hpp"
#include "search/plans/plan_estimate.hpp"

namespace lockstep {

/// The least share of a step that makes an unlike cut of a stage, or of a chunk of one, worth it.
constexpr double kWorthCutting = 1e-3;

using Fullness = std::function<double(const std::vector<Bytes>&)>;

/// Seconds that a step could gain at most if layers could be cut anywhere, hardly more:
///
///   (n + p - 1) (W - B)
///
/// with n micro-batches, p stages, W what the busiest stage works on one of them, and B what each would if
/// all were equally busy. 0 without a pipeline.
[[nodiscard]] Seconds most_gained(const PlanCandidate& candidate, const CostsOfStages& costs,
                                  const EstimateInput& input);

/// The candidate with `stage_layers` of the least estimated step that fit: layers are dealt one by one to the
/// chunk that is done with its own first, at least one to each, then single ones move for as long as the
/// estimate gets shorter (before that, for as long as memory gets less where it does not fit).
/// @param candidate with even stages
/// @param fullness the largest share of its GPUs'
/// memory that a stage needs, by what they need (memory_of_stages()): more than 1 does not fit
/// @return nothing: none fits, or none is faster than even stages that fit
[[nodiscard]] std::optional<PlanCandidate> with_balanced_stages(const PlanCandidate& candidate,
                                                                const CostsOfStages& costs,
                                                                const EstimateInput& input,
                                                                const Fullness& fullness);

}  // namespace lockstep
