#pragma once

#include <cstdint>
#include <numeric>
#include <vector>

namespace lockstep {

/// Elements of all @p parameters, of which each has so many.
[[nodiscard]] inline std::int64_t elements_of(const std::vector<std::int64_t>& parameters) {
  return std::accumulate(parameters.begin(), parameters.end(), std::int64_t{0});
}

}  // namespace lockstep
