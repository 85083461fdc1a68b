#pragma once

/// @file
/// How often the rows of an embedding table are used in one batch, at any batch size.

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "ops/kernel.hpp"

namespace lockstep {

constexpr double kMostIndexSkew = 8;  ///< in log2 units; the integrals below hold to 1e-4 up to it

/// Popularities of a table's rows: few parameters, none of which depends on the batch.
///
///   popularity  w = exp(s z - s^2 / 2) of an active row, z normal, s = skew ln 2; mean 1; by Zipf's law
///               w = rows r^-zipf / (1 + 2^-zipf + ... + rows^-zipf) of the r-th row
///   draws       of a row in a batch of L lookups: K ~ Poisson(w L / (duplication * rows))
///   uses        of the row: duplication * K, for an index that is drawn comes again in its sample or session
///   distinct    rows E[1 - exp(-w L / (duplication * rows))]
///
/// *Assumes* draws that are independent of each other but for `duplication`; that rows which are never looked
/// up (the rest of the table) stay so.
/// *Valid for* skew 0 to 8; real tables have 1.6 to 3.2, duplication 1 to 6. Checked: bins of ten real
/// tables, different rows of four against the batch size (docs/learned_kernels.md). *Source*: lognormal rates
/// and their check: ../shared/data/embedding (facebookresearch/dlrm_datasets, read off figures); own
/// parametrisation. Zipf's law is what benchmarks draw by (calibration/measure/zipf.hpp).
struct IndexModel {
  double rows = 1;         ///< active rows, > 0
  double skew = 0;         ///< standard deviation of log2 of the popularities
  double duplication = 1;  ///< >= 1
  double zipf = 0;         ///< exponent; 0: lognormal
};

/// The model that a table's fields describe.
[[nodiscard]] IndexModel index_model(const EmbeddingTable& table);

/// Different rows among @p lookups of one batch, 0 for none.
[[nodiscard]] double distinct_rows(const IndexModel& model, double lookups);

/// Shares of the rows that @p lookups of one batch touch, by how often, k in (0,1], (1,2], (2,4], ...
/// (16384,32768], above: the reuse-factor bins of Lin et al., arXiv 2404.12674. They add up to 1; all 0 for
/// no lookups.
/// @param points of the integral over popularities; 200 give bins within 0.01 of these (skew up to 3.2)
[[nodiscard]] std::array<double, 17> reuse_bins(const IndexModel& model, double lookups, int points = 1600);

/// Mean of @p value(w) over popularities w with s = @p skew in natural units: the trapezoid rule with @p
/// points steps, which converges exponentially under a Gaussian where @p value is smooth.
template <class Value>
double mean_over_popularities(double skew, Value value, int points = 200) {
  constexpr double kFarthest = 8;
  const double step = 2 * kFarthest / points;
  double sum = 0, weights = 0;
  for (int i = 0; i <= points; ++i) {
    const double z = -kFarthest + i * step;
    const double weight = std::exp(-z * z / 2);
    sum += weight * value(std::exp(skew * z - skew * skew / 2));
    weights += weight;
  }
  return sum / weights;
}

/// Integral of x^-zipf from @p low to @p high, both above 0.
[[nodiscard]] double zipf_integral(double zipf, double low, double high);

/// Mean of @p value(w) over the rows of Zipf's law: each of the first 100, then groups that are 6 % of their
/// first rank wide and count as their mean.
template <class Value>
double mean_over_ranks(double rows, double zipf, Value value) {
  constexpr double kEach = 100, kGroup = 0.06;
  const auto over_ranks = [&](auto visit) {
    for (double first = 1; first <= rows;) {
      const double count = std::min(first <= kEach ? 1 : std::floor(kGroup * first), rows - first + 1);
      const double share =
          first <= kEach ? std::pow(first, -zipf) : zipf_integral(zipf, first - 0.5, first + count - 0.5);
      visit(count, share);
      first += count;
    }
  };
  double all = 0, sum = 0;
  over_ranks([&](double, double share) { all += share; });
  over_ranks([&](double count, double share) { sum += count * value(rows * share / (all * count)); });
  return sum / rows;
}

/// Mean of @p value(w) over the model's rows. @param points where they are lognormal
template <class Value>
double mean_over_rows(const IndexModel& model, Value value, int points = 200) {
  if (model.zipf > 0) return mean_over_ranks(std::max(1.0, std::floor(model.rows)), model.zipf, value);
  return mean_over_popularities(model.skew * std::numbers::ln2, value, points);
}

/// Share of all rows that @p draws draws of an average row touch. @param skew in natural units
[[nodiscard]] double touched_share(double skew, double draws);

}  // namespace lockstep
