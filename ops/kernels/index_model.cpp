#include "ops/kernels/index_model.hpp"

#include <algorithm>
#include <boost/math/special_functions/gamma.hpp>
#include <numbers>

namespace lockstep {
namespace {

/// P(K <= most) of a Poisson variable.
double at_most(double most, double mean) {
  constexpr double kMany = 700;  // Chernoff's bounds: what is left out is below exp(-100)
  if (mean > kMany && mean > 2 * most) return 0;
  if (most > kMany && mean < most / 8) return 1;
  return mean > 0 ? boost::math::gamma_q(std::floor(most) + 1, mean) : 1;
}

double draws_of_mean_row(const IndexModel& model, double lookups) {
  return lookups / (model.duplication * model.rows);
}

}  // namespace

IndexModel index_model(const EmbeddingTable& table) {
  return {.rows = std::max(1.0, table.active_rows * static_cast<double>(table.rows)),
          .skew = table.index_skew,
          .duplication = table.index_duplication,
          .zipf = table.zipf};
}

double zipf_integral(double zipf, double low, double high) {
  const double power = 1 - zipf;
  if (std::abs(power) < 1e-9) return std::log(high / low);
  return (std::pow(high, power) - std::pow(low, power)) / power;
}

double touched_share(double skew, double draws) {
  return mean_over_popularities(skew, [&](double w) { return -std::expm1(-draws * w); });
}

double distinct_rows(const IndexModel& model, double lookups) {
  if (lookups <= 0) return 0;
  const double draws = draws_of_mean_row(model, lookups);
  const double share = mean_over_rows(model, [&](double w) { return -std::expm1(-draws * w); });
  return std::min(lookups, model.rows * share);
}

// Many points: uses of popular rows are a step of popularity, for a given bin.
std::array<double, 17> reuse_bins(const IndexModel& model, double lookups, int points) {
  std::array<double, 17> bins{};
  if (lookups <= 0) return bins;
  const double draws = draws_of_mean_row(model, lookups);
  const double untouched = mean_over_rows(model, [&](double w) { return std::exp(-draws * w); });
  double below = 0;  // share of the touched rows in the bins so far
  for (std::size_t bin = 0; bin + 1 < bins.size(); ++bin) {
    const double most = std::exp2(static_cast<double>(bin)) / model.duplication;
    const double up_to = mean_over_rows(
        model, [&](double w) { return at_most(most, draws * w); }, points);
    const double reached = std::clamp((up_to - untouched) / (1 - untouched), below, 1.0);
    bins.at(bin) = reached - below;
    below = reached;
  }
  bins.back() = 1 - below;
  return bins;
}

}  // namespace lockstep
