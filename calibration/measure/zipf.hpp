#pragma once

#include <cstdint>

#include "base/random.hpp"

namespace lockstep {

/// Ranks 1 to n, drawn with probability proportional to 1 / rank^exponent; exponent 0 draws all alike.
///
/// Method: rejection-inversion, W. Hörmann, G. Derflinger, "Rejection-inversion to generate variates from
/// monotone discrete distributions", ACM TOMACS 6(3), 1996, p. 169-184: a uniform number is inverted through
/// the integral H of x^-exponent, and the next integer taken where it lies under the histogram; less than one
/// rejection in ten draws.
class Zipf {
 public:
  /// @throws std::logic_error for no ranks or a negative exponent
  Zipf(std::int64_t ranks, double exponent);

  /// The @p index-th draw of a sequence. @return 1 to ranks
  [[nodiscard]] std::int64_t draw(const Random& random, std::uint64_t index) const;

 private:
  [[nodiscard]] double integral(double x) const;          ///< H(x) of x^-exponent, H(1) = 0
  [[nodiscard]] double integral_inverse(double y) const;  ///< x of H(x) = y
  [[nodiscard]] double density(double x) const;           ///< x^-exponent

  std::int64_t ranks_;
  double exponent_;
  double integral_first_;  ///< H(1.5) - 1
  double integral_last_;   ///< H(ranks + 0.5)
  double sure_;            ///< below this distance an integer is accepted without further arithmetic
};

/// The row of a table with @p rows rows that the rank stands for: a permutation, so that hot rows do not lie
/// side by side.
[[nodiscard]] std::int64_t row_of_rank(std::int64_t rank, std::int64_t rows);

}  // namespace lockstep
