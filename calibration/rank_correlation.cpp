#include "calibration/rank_correlation.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <stdexcept>
#include <vector>

namespace lockstep {
namespace {

/// Counted from 0; equal values have the mean of the ranks that they take together.
std::vector<double> ranks_of(std::span<const double> values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return values[a] < values[b]; });
  std::vector<double> ranks(values.size());
  for (std::size_t first = 0; first < order.size();) {
    std::size_t end = first + 1;
    while (end < order.size() && values[order[end]] == values[order[first]]) {
      ++end;
    }
    const double shared = static_cast<double>(first + end - 1) / 2;
    for (; first < end; ++first) {
      ranks[order[first]] = shared;
    }
  }
  return ranks;
}

}  // namespace

std::optional<double> rank_correlation(std::span<const double> one, std::span<const double> other) {
  if (one.size() != other.size()) {
    throw std::logic_error{"rank_correlation: series of different lengths"};
  }
  const std::vector<double> a = ranks_of(one), b = ranks_of(other);
  const double mean = (static_cast<double>(a.size()) - 1) / 2;  // of both: ties keep the sum
  double both = 0, of_a = 0, of_b = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    both += (a[i] - mean) * (b[i] - mean);
    of_a += (a[i] - mean) * (a[i] - mean);
    of_b += (b[i] - mean) * (b[i] - mean);
  }
  if (!(of_a > 0 && of_b > 0)) {
    return std::nullopt;
  }
  return both / std::sqrt(of_a * of_b);
}

}  // namespace lockstep
