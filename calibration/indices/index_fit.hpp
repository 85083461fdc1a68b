#pragma once

#include <span>
#include <string>
#include <vector>

#include "ops/kernels/index_model.hpp"

namespace lockstep {

/// Different rows among the look-ups of one batch.
struct DistinctRows {
  double lookups = 0;
  double distinct = 0;
};

/// An index model, and how far it is off: signed relative errors of different rows, in the order of the
/// points.
struct IndexFit {
  IndexModel model;
  std::vector<double> errors;
};

/// The index model nearest to @p points, of one table at several batch sizes.
///
/// The most probable one, where a relative error of 2 % is as unlikely as a skew 1 away from 2.4, the mean of
/// ten real tables (../shared/data/embedding/real_table_bins_10_digitised.csv: 1.6 to 3.2); duplication is at
/// least
/// 1. Levenberg-Marquardt from nine starts.
/// @param most_rows the model has no more active ones
/// @throws std::invalid_argument for fewer than three points, or one without rows or with more than look-ups
[[nodiscard]] IndexFit fit_index_model(std::span<const DistinctRows> points, double most_rows);

/// Different rows of the first 1/64, 1/32, ... 1 of the bags in @p text: a line a bag (a sample's look-ups in
/// one table), row numbers between blanks or commas, lines that begin with # left out. Parts without look-ups
/// are left out.
/// @param table_rows of the table
/// @throws InputError at file and line for what is no row number of it
[[nodiscard]] std::vector<DistinctRows> distinct_rows_of_parts(const std::string& text,
                                                               const std::string& file_name,
                                                               double table_rows);

}  // namespace lockstep
