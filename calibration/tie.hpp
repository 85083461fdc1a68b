#pragma once

#include "calibration/band.hpp"

namespace lockstep {

/// Whether two predicted figures, of which less is better, cannot be told apart: the larger one, as far down
/// as the band of the smaller one reaches, is no larger than that.
/// @param band of the smaller one
[[nodiscard]] constexpr bool is_tie(double smaller, double larger, const Band& band) {
  return larger * (1 - band.faster) <= smaller;
}

}  // namespace lockstep
