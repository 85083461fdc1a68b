#pragma once

#include <cstddef>
#include <span>

namespace lockstep {

/// Figures of error over many predictions, from their signed relative errors (predicted / measured - 1).
struct ErrorSummary {
  std::size_t count = 0;
  double geometric_mean = 0;  ///< exp(mean ln(|error| + 4e-4)): GMAE of Lin et al., arXiv 2201.07821
  double mean = 0;            ///< of absolute errors
  double bias = 0;            ///< mean of signed errors
  double largest = 0;         ///< absolute
};

/// All zero for no errors.
[[nodiscard]] ErrorSummary summarise(std::span<const double> errors);

}  // namespace lockstep
