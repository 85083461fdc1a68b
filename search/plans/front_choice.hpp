#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "search/plans/plan_estimate.hpp"

namespace lockstep {

/// A plan by its figures, simulated or estimated.
struct FrontPlan {
  PlanFigures figures;
  bool is_simulated = false;
};

/// Whom to simulate next, so that the simulated plans show the front of all: first, for each of them that
/// seems to be on the front and is not, one that an estimate says to be better; then of the front, by
/// estimates where there are no simulations, the plan whose memory is the furthest by ratio from that of any
/// simulated one on as many GPUs, again and again until none is further than kNear; then likewise by step
/// time. Plans of which a simulation shows that they are beaten are not on it, and those behind them are.
/// @return their numbers, at most @p count; none: the front is shown
[[nodiscard]] std::vector<std::size_t> next_of_front(std::span<const FrontPlan> plans, std::size_t count);

constexpr double kNear = 1.05;

}  // namespace lockstep
