#include "ops/workload/parallel/expert_loads.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/random.hpp"

namespace lockstep {
namespace {

/// Sum of i^-s, i from 1 to n.
double harmonic(std::int64_t n, double s) {
  double sum = 0;
  for (std::int64_t i = n; i > 0; --i) {
    sum += std::pow(static_cast<double>(i), -s);
  }
  return sum;
}

/// s with n = imbalance sum i^-s: the sum falls from n (s = 0) to 1.
double zipf_exponent(std::int64_t n, double imbalance) {
  constexpr double kSteepest = 64;  // 2^-64 is nothing beside 1
  constexpr int kHalvings = 60;
  double low = 0, high = kSteepest;
  for (int halving = 0; halving < kHalvings; ++halving) {
    const double middle = (low + high) / 2;
    (imbalance * harmonic(n, middle) > static_cast<double>(n) ? low : high) = middle;
  }
  return (low + high) / 2;
}

}  // namespace

ExpertLoads::ExpertLoads(const ExpertsSpec& spec)
    : spec_{spec}, sorted_(static_cast<std::size_t>(spec.count), spec.capacity) {
  if (are_even()) {
    return;
  }
  const double limit = spec.capacity > 1 ? spec.capacity : spec.imbalance;
  const double exponent = zipf_exponent(spec.count, spec.imbalance);
  for (std::size_t i = 0; i < sorted_.size(); ++i) {
    sorted_[i] = std::min(spec.imbalance * std::pow(static_cast<double>(i + 1), -exponent), limit);
  }
}

std::vector<double> ExpertLoads::of(std::int64_t layer) const {
  if (are_even()) {
    return sorted_;
  }
  const Random random = Random{spec_.seed, "experts"}.of(static_cast<std::uint64_t>(layer));
  std::vector<std::size_t> order(sorted_.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return random.bits(a) < random.bits(b); });
  std::vector<double> loads(sorted_.size());
  for (std::size_t place = 0; place < order.size(); ++place) {
    loads[order[place]] = sorted_[place];
  }
  return loads;
}

}  // namespace lockstep
