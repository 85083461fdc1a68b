#pragma once

/// @file
/// What a log of nccl-tests says of itself: whether its results were right, and by busbw of which collective
/// it is.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "ops/collectives/collective.hpp"

namespace lockstep {

/// busbw / algbw (doc/PERFORMANCE.md of nccl-tests).
[[nodiscard]] double bus_factor(CollectiveKind kind, int ranks);

/// The largest `error` of a result that nccl-tests before 2.13 takes for right: rounding of each addition.
/// *Source*: DeltaMaxValue() and CheckData() in its src/common.cu.
/// @param type as its rows have it; whole numbers, and types not known, have no rounding
[[nodiscard]] double largest_right_error(std::string_view type, int ranks);

/// `# Out of bounds values : 12 FAILED`, how many results of a program were wrong, in or out of place; none
/// for any other line.
[[nodiscard]] std::optional<std::uint64_t> results_out_of_bounds(const std::string& line);

}  // namespace lockstep
