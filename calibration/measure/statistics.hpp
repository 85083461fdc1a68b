#pragma once

#include <cstddef>
#include <span>

#include "base/units.hpp"

namespace lockstep {

/// Repeats of one measurement in a few figures. Times of kernels are skewed, so all of them are order
/// statistics.
struct Spread {
  std::size_t repeats = 0;
  Seconds median;
  Seconds least;
  Seconds tenth;      ///< percentile
  Seconds ninetieth;  ///< percentile

  /// Half the 95 % confidence interval of the median, as a share of the median: without assuming a
  /// distribution, from the ranks floor((n - 1.96 sqrt n) / 2) and ceil(1 + (n + 1.96 sqrt n) / 2) of the
  /// sorted repeats, or the extremes of few repeats (six cover 96.9 %, five 93.8 %). Source: T. Hoefler, R.
  /// Belli, "Scientific benchmarking of parallel computing systems", SC 2015, section 3. *Assumes*
  /// independent repeats.
  double median_error = 0;
};

/// @throws std::logic_error for no repeats
[[nodiscard]] Spread spread_of(std::span<const Seconds> repeats);

/// When a point has been measured often enough.
struct StoppingRule {
  std::size_t least = 20;         ///< repeats where they are cheap
  std::size_t most = 400;         ///< repeats
  double median_error = 0.01;     ///< wanted of Spread::median_error
  Seconds budget = Seconds{0.2};  ///< sum of repeats after which six are enough, whatever the error

  /// Fewest repeats of all: with six the extremes are a 95 % confidence interval of the median.
  static constexpr std::size_t kFewest = 6;

  [[nodiscard]] bool is_met_by(std::span<const Seconds> repeats) const;
};

}  // namespace lockstep
