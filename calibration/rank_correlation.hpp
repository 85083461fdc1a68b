#pragma once

#include <optional>
#include <span>

namespace lockstep {

/// Spearman's rank correlation of two equally long series: the correlation of their ranks, equal values
/// sharing the mean of theirs. 1: the same order; -1: the opposite one. std::nullopt for fewer than two
/// values, and where all of one series are equal.
/// Source: Spearman 1904, "The proof and measurement of association between two things".
/// @throws std::logic_error for series that differ in length
[[nodiscard]] std::optional<double> rank_correlation(std::span<const double> one,
                                                     std::span<const double> other);

}  // namespace lockstep
