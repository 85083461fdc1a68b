#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "calibration/error_summary.hpp"
#include "calibration/validate.hpp"

namespace lockstep {

/// A point's time of a quantity that its set compares; nullptr where it was not measured.
[[nodiscard]] const ComparedTime* compared(const ValidationPoint& point, ComparedQuantity quantity);

/// "step time", "kernel time", ...
[[nodiscard]] const char* in_words(ComparedQuantity quantity);

/// Figures of error: whose predictions, of what, over which points.
struct ErrorLine {
  std::string column;  ///< of the table; "" for all points
  std::string cell;    ///< the points with this cell there
  ErrorSummary ours;
  std::vector<ErrorSummary> others;  ///< by ValidationSet::others; count 0 where it predicts nothing
  std::optional<double> inside;      ///< share of the points measured inside our band; none: no bands
};

/// One for each cell of each column of ValidationSet::groups (left out: of ValidationSet::rows), numbers in
/// their order, other cells in that of the table; and one for all points.
[[nodiscard]] std::vector<ErrorLine> error_lines(const Validation& validation, ComparedQuantity quantity);

/// The set's aims; where it says none, a mean error below 10 %.
[[nodiscard]] std::vector<ValidationAim> aims_of(const ValidationSet& set);

/// An aim of a set, beside the number that was reached.
struct ReachedAim {
  ValidationAim aim;
  double reached = 0;
};
/// Aims over all points, in the set's order. An aim at GPU busy time has none where that was not measured.
[[nodiscard]] std::vector<ReachedAim> reached_aims(const Validation& validation);

/// How many points are of kernels outside the ranges that their models were checked in.
[[nodiscard]] std::size_t points_out_of_range(const Validation& validation);

/// Numbers of the points with the largest absolute errors of step time, the worst first.
[[nodiscard]] std::vector<std::size_t> worst_points(const Validation& validation, std::size_t count);

/// How well the order of step times is predicted: for choosing a plan it matters more than the times.
struct StepOrder {
  std::optional<double> overall;  ///< rank_correlation() of predicted and measured over all points
  std::size_t families = 0;       ///< with at least three points that were not measured alike
  double median = 0;              ///< of the families' rank correlations
  double lowest = 0;
  std::vector<std::string> lowest_family;  ///< its cells, by ValidationSet::family
  /// Within a family, measured time of the point predicted fastest over that of the fastest, less 1.
  double mean_regret = 0;
  double largest_regret = 0;
};
[[nodiscard]] StepOrder step_order(const Validation& validation);

}  // namespace lockstep
