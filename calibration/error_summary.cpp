#include "calibration/error_summary.hpp"

#include <algorithm>
#include <cmath>

namespace lockstep {

ErrorSummary summarise(std::span<const double> errors) {
  // An error of nothing must not make the geometric mean nothing (analysis/utils.py of Lin et al.).
  constexpr double kLeast = 4e-4;
  ErrorSummary summary;
  double logarithms = 0;
  for (const double error : errors) {
    ++summary.count;
    summary.mean += std::abs(error);
    summary.bias += error;
    summary.largest = std::max(summary.largest, std::abs(error));
    logarithms += std::log(std::abs(error) + kLeast);
  }
  if (summary.count > 0) {
    const auto count = static_cast<double>(summary.count);
    summary.geometric_mean = std::exp(logarithms / count);
    summary.mean /= count;
    summary.bias /= count;
  }
  return summary;
}

}  // namespace lockstep
