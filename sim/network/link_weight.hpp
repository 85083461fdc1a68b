#pragma once

#include "ops/collectives/collective_plan.hpp"

namespace lockstep {

/// Weights of transfers on links are whole multiples of this (2^-36 = 1.5e-11). A sum of such numbers below
/// 2^17 is exact in a double, whatever the order: an all-to-all of 16,384 ranks stays below.
inline constexpr double kWeightStep = 0x1p-36;

/// Bytes of the plan's largest edge (of its most loaded link when it has no edges) per byte of its size; 1
/// for a plan that moves nothing.
[[nodiscard]] double unit_of(const CollectivePlan& plan);

/// How many bytes cross a link of @p share for each byte of the largest edge, a multiple of kWeightStep.
[[nodiscard]] double link_weight(double share, double unit);

}  // namespace lockstep
