#pragma once

#include <cmath>
#include <cstdint>

#include "base/units.hpp"

namespace lockstep {

/// The cost that routing minimises: latency first, then hops. One integer (picoseconds above, hops in the low
/// 16 bits), so that equal is exactly equal whatever the order in which the links were added up.
using PathCost = std::uint64_t;

inline constexpr PathCost kUnreachable = ~PathCost{0};
inline constexpr Seconds kLongestLatency{100};  ///< of a link; keeps sums over two such links below 2^48 ps

[[nodiscard]] inline PathCost cost_of_link(Seconds latency) {
  return (static_cast<PathCost>(std::llround(latency.in_base_units() * 1e12)) << 16U) + 1;
}

}  // namespace lockstep
