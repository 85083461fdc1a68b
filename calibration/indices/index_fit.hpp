#pragma once

#include <span>
#include <string>
#include <vector>

#include "ops/kernels/index_model.hpp"

namespace lockstep {

/// Different rows among the lookups of one batch.
struct DistinctRows {
  double lookups = 0;
  double distinct = 0;
};

/// An index model, and how far it is off: signed relative errors of different rows, in the order of the
/// points.
struct IndexFit {
  IndexModel model;
  std::vector<double> errors;
  bool is_even = false;  ///< all rows are equally popular, as far as the points tell
};

/// The index model nearest to @p points, of one table at several batch sizes.
///
/// All rows equally popular where that gives no more repeats than there are, but for what is chance (two
/// standard deviations of draws at random). Else the most probable one, where an error of 2 % of the odds,
/// different rows against lookups that found a row of before, beside what chance makes of them is as
/// unlikely as a skew 2 away from 2.4, the mean of ten real tables
/// (../shared/data/embedding/real_table_bins_10_digitised.csv: 1.6 to 3.2): that decides only where the
/// points tell little. Duplication is at least 1. Levenberg-Marquardt from nine starts.
/// @param points of batch sizes that grow
/// @param most_rows the model has no more active ones
/// @throws std::invalid_argument for fewer than three points, ones that do not grow, or one without rows or
/// with more than lookups
[[nodiscard]] IndexFit fit_index_model(std::span<const DistinctRows> points, double most_rows);

/// Reasons to doubt a fit, each in a sentence; empty for a sound one.
///
///   misfit   parts held out are missed by more than 10 % on average (real tables by 5 % at most)
///   even     but fewer lookups than by chance found a row of before, or too few (20) to tell anything
///
/// @param points all parts, fitted and held out
/// @param held_out signed relative errors of different rows of those that were
[[nodiscard]] std::vector<std::string> index_doubts(const IndexFit& fit, std::span<const DistinctRows> points,
                                                    std::span<const double> held_out);

/// Different rows of the first 1/64, 1/32, ... 1 of the bags in @p text: a line a bag (a sample's lookups in
/// one table), row numbers between blanks or commas, lines that begin with # left out. Parts without lookups
/// are left out.
/// @param table_rows of the table
/// @throws InputError at file and line for what is no row number of it
[[nodiscard]] std::vector<DistinctRows> distinct_rows_of_parts(const std::string& text,
                                                               const std::string& file_name,
                                                               double table_rows);

}  // namespace lockstep
