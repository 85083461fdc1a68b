#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace lockstep {

/// Figures of error over many predictions, from their signed relative errors (predicted / measured - 1).
struct ErrorSummary {
  std::size_t count = 0;
  double geometric_mean = 0;  ///< exp(mean ln(|error| + 4e-4)): GMAE of Lin et al., arXiv 2201.07821
  double median = 0;          ///< of absolute errors
  double mean = 0;            ///< of absolute errors
  double ninetieth = 0;       ///< percentile of absolute errors
  double largest = 0;         ///< absolute
  double bias = 0;            ///< mean of signed errors
};

/// All zero for no errors.
[[nodiscard]] ErrorSummary summarise(std::span<const double> errors);

/// A relative error in a table's column, in percent: `   12.3`, at least one blank before it. Errors too
/// large for a digit behind the point go without (`  51219`), or as `  5e+04`.
/// @param width of the column, 7 or more; @p is_signed: with a plus above 0
[[nodiscard]] std::string percent_cell(double error, int width, bool is_signed = false);

/// The value below which @p share of @p values lie, between two of them by straight line (numpy.quantile's
/// default). @throws std::logic_error for no values, a share outside 0 to 1
[[nodiscard]] double quantile(std::span<const double> values, double share);

}  // namespace lockstep
