#include "calibration/measure/zipf.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>

namespace lockstep {

Zipf::Zipf(std::int64_t ranks, double exponent) : ranks_{ranks}, exponent_{exponent} {
  if (ranks < 1 || !(exponent >= 0)) {
    throw std::logic_error{"Zipf: at least one rank, an exponent that is not negative"};
  }
  integral_first_ = integral(1.5) - 1;
  integral_last_ = integral(static_cast<double>(ranks) + 0.5);
  sure_ = 2 - integral_inverse(integral(2.5) - density(2));
}

std::int64_t Zipf::draw(const Random& random, std::uint64_t index) const {
  const Random tries = random.of(index);
  for (std::uint64_t attempt = 0;; ++attempt) {
    const double u = integral_last_ + tries.uniform(attempt) * (integral_first_ - integral_last_);
    const double x = integral_inverse(u);
    const auto rank =
        std::clamp<std::int64_t>(std::llround(std::min(x, static_cast<double>(ranks_))), 1, ranks_);
    const auto whole = static_cast<double>(rank);
    if (whole - x <= sure_ || u >= integral(whole + 0.5) - density(whole)) {
      return rank;
    }
  }
}

double Zipf::integral(double x) const {
  const double log_x = std::log(x);
  const double power = (1 - exponent_) * log_x;
  // (x^(1-s) - 1) / (1 - s), and log x where s is 1
  return std::abs(power) < 1e-8 ? log_x : std::expm1(power) / (1 - exponent_);
}

double Zipf::integral_inverse(double y) const {
  const double scaled = (1 - exponent_) * y;
  return std::exp(std::abs(scaled) < 1e-8 ? y : std::log1p(std::max(scaled, -1.0)) / (1 - exponent_));
}

double Zipf::density(double x) const {
  return std::exp(-exponent_ * std::log(x));
}

std::int64_t row_of_rank(std::int64_t rank, std::int64_t rows) {
  constexpr std::int64_t kStride = 2'654'435'761;  // a prime near 2^32 over the golden ratio
  const auto stride = std::gcd(kStride, rows) == 1 ? kStride % rows : 1;
  // below 2^63: both factors are below 2^31 where rows is
  return (rank - 1) * stride % rows;
}

}  // namespace lockstep
