#include "calibration/measure/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>
#include <vector>

#include "calibration/error_summary.hpp"

namespace lockstep {
namespace {

constexpr double kNormalQuantile = 1.959963984540054;  // exceeded with probability 2.5 %

/// Half the width of the confidence interval of the median of sorted times.
double half_interval(const std::vector<double>& sorted) {
  const auto count = static_cast<double>(sorted.size());
  const double reach = kNormalQuantile * std::sqrt(count);
  const double lower = std::max(1.0, std::floor((count - reach) / 2));
  const double upper = std::min(count, std::ceil(1 + (count + reach) / 2));
  return (sorted[static_cast<std::size_t>(upper) - 1] - sorted[static_cast<std::size_t>(lower) - 1]) / 2;
}

}  // namespace

Spread spread_of(std::span<const Seconds> repeats) {
  if (repeats.empty()) {
    throw std::logic_error{"spread_of: no repeats"};
  }
  std::vector<double> sorted;
  for (const Seconds time : repeats) {
    sorted.push_back(time.in_base_units());
  }
  std::sort(sorted.begin(), sorted.end());
  const double median = quantile(sorted, 0.5);
  return {.repeats = sorted.size(),
          .median = Seconds{median},
          .least = Seconds{sorted.front()},
          .tenth = Seconds{quantile(sorted, 0.1)},
          .ninetieth = Seconds{quantile(sorted, 0.9)},
          .median_error = median > 0 ? half_interval(sorted) / median : 0};
}

bool StoppingRule::is_met_by(std::span<const Seconds> repeats) const {
  if (repeats.size() < kFewest) {
    return false;
  }
  const Seconds spent = std::accumulate(repeats.begin(), repeats.end(), Seconds{0});
  if (repeats.size() >= most || spent >= budget) {
    return true;
  }
  return repeats.size() >= least && spread_of(repeats).median_error <= median_error;
}

}  // namespace lockstep
