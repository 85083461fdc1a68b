#pragma once

#include "calibration/kernels/kernel_measurements.hpp"

namespace lockstep {

/// Rows to fit constants to, and rows that are only predicted.
struct SplitRows {
  KernelMeasurements fitted, held_out;
  bool with_m = false;  ///< other m of a weight matrix that is held out may be among the fitted
};

/// Splits rows of one family by a hash of their shape, so that about a share @p held_out of the shapes is
/// held out and all rows of a shape stay together.
///
/// Products of one weight matrix stay together, too (place_of_shape()), where there are at least 1 / held_out
/// matrices: of fewer, as of a sweep over numbers of tokens, all or nothing might be held out, and m tells
/// shapes apart. Where the hash holds out nothing (or, of several shapes, everything), the shape with the
/// least (greatest) hash goes to the other part.
[[nodiscard]] SplitRows split_by_shape(const KernelMeasurements& rows, double held_out);

}  // namespace lockstep
