#include "ops/kernels/row_cache.hpp"

#include <algorithm>
#include <cmath>

namespace lockstep {
namespace {

/// Different rows of so many draws, and the probability that the next draw is of another row.
struct Touched {
  double rows, others;
};

Touched touched(const IndexModel& model, double draws) {
  const double each = draws / model.rows;
  return {model.rows * mean_over_rows(model, [&](double w) { return -std::expm1(-each * w); }),
          mean_over_rows(model, [&](double w) { return w * std::exp(-each * w); })};
}

/// After how many draws a cache of @p places rows, fewer than there are, is full. The different rows grow
/// ever more slowly with the draws, so that Newton's steps come from below and never go too far.
double draws_that_fill(const IndexModel& model, double places) {
  constexpr int kSteps = 60;
  double draws = places;
  for (int i = 0; i < kSteps; ++i) {
    const Touched so_far = touched(model, draws);
    const double step = (places - so_far.rows) / so_far.others;
    if (!(step > 1e-4 * draws)) break;
    draws += step;
  }
  return draws;
}

}  // namespace

double missed_lookups(const IndexModel& model, double places, double lookups) {
  const double draws = lookups / model.duplication;
  if (!(draws > 0)) return 0;
  if (!(places > 0)) return draws;
  if (places >= model.rows) return distinct_rows(model, lookups);
  const bool alike = model.zipf == 0 && model.skew == 0;
  const double fill = alike ? -model.rows * std::log1p(-places / model.rows) : draws_that_fill(model, places);
  if (draws <= fill) return distinct_rows(model, lookups);
  const double missing = alike ? 1 - places / model.rows : touched(model, fill).others;
  return std::min(draws, places + (draws - fill) * missing);
}

double missed_pooled_rows(const PooledReads& reads) {
  const double rows = std::min(reads.bags, reads.draws);
  if (!(rows > 0)) return 0;
  if (rows + reads.others <= reads.places) return rows;
  const double each = reads.draws / rows;
  const auto not_read_within = [&](double share) { return std::pow(1 - share, each); };
  // `passed` grows ever more slowly with the share of the draws: Newton's steps come from below.
  constexpr int kSteps = 60;
  double stays = 0;
  for (int i = 0; i < kSteps; ++i) {
    const double unread = not_read_within(stays);
    const double passed = rows * (1 - unread) + reads.others * stays;
    const double step = (reads.places - passed) / (reads.draws * unread / (1 - stays) + reads.others);
    if (!(step > 1e-6 * stays)) break;
    stays = std::min(1.0, stays + step);
  }
  return rows + (reads.draws - rows) * not_read_within(stays);
}

}  // namespace lockstep
