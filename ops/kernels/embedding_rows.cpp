#include "ops/kernels/embedding_rows.hpp"

#include <algorithm>
#include <array>
#include <boost/math/tools/toms748_solve.hpp>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>

#include "ops/kernels/index_model.hpp"

namespace lockstep {
namespace {

constexpr double kSector = 32;
constexpr double kMostSkew = 8;  // beyond the 3.2 ln 2 of the most skewed real table

/// The zero of the continuous @p rises between @p low and @p high; without one, the end that is nearer to
/// it.
template <class Rises>
double root(double low, double high, Rises rises) {
  const double at_low = rises(low), at_high = rises(high);
  if (at_low >= 0) return low;
  if (at_high <= 0) return high;
  std::uintmax_t steps = 100;
  const auto [below, above] = boost::math::tools::toms748_solve(
      rises, low, high, at_low, at_high, boost::math::tools::eps_tolerance<double>{}, steps);
  return (below + above) / 2;
}

double skew_of(double uses, double share) {
  if (touched_share(0, uses) <= share) return 0;
  return root(0, kMostSkew, [&](double skew) { return share - touched_share(skew, uses); });
}

/// Part of a batch's different rows that the cache does not hold when it begins.
double solve_missing(double uses, double share, double cached) {
  const double skew = skew_of(uses, share);
  if (skew == 0) return 1 - cached;
  const double logarithm = root(std::log(1e-9), std::log(1e12 / uses),
                                [&](double t) { return touched_share(skew, uses * std::exp(t)) - cached; });
  const double stay = uses * std::exp(logarithm);
  const double missed =
      mean_over_popularities(skew, [&](double w) { return -std::expm1(-uses * w) * std::exp(-stay * w); });
  return missed / touched_share(skew, uses);
}

/// The same, kept by its arguments. A table's kernels and its copies ask in turn about the same few tables
/// and sizes of their caches. They do so for every plan of a search and every rank.
double missing(double uses, double share, double cached) {
  constexpr std::size_t kMostKept = 4096;
  thread_local std::map<std::array<double, 3>, double> kept;
  const std::array<double, 3> of{uses, share, cached};
  const auto found = kept.find(of);
  if (found != kept.end()) return found->second;
  if (kept.size() >= kMostKept) kept.clear();
  return kept[of] = solve_missing(uses, share, cached);
}

BatchRows with_cache(const EmbeddingTable& table, double lookups, double distinct) {
  const auto rows = static_cast<double>(table.rows);
  const double places = table.cache_load_factor * rows;
  if (table.cache_load_factor >= 1) return {.gpu_lookups = lookups, .gpu_distinct = distinct};
  const double missed = distinct * missing(lookups / rows, distinct / rows, table.cache_load_factor);
  const double held = std::min(1.0, places / distinct);
  return {.gpu_lookups = held * lookups,
          .gpu_distinct = held * distinct,
          .host_lookups = (1 - held) * lookups,
          .host_distinct = (1 - held) * distinct,
          .inserted = std::min(missed, std::max(0.0, places - (distinct - missed)))};
}

}  // namespace

double row_bytes(const EmbeddingTable& table, double element) {
  return std::ceil(static_cast<double>(table.dimension) * element / kSector) * kSector;
}

double distinct_rows(const EmbeddingTable& table, double lookups) {
  if (lookups <= 0) return 0;
  if (table.reuse_factor > 0) return lookups / std::max(1.0, table.reuse_factor);
  if (table.index_skew > 0 || table.zipf > 0 || table.active_rows < 1 || table.index_duplication > 1) {
    return distinct_rows(index_model(table), lookups);
  }
  const auto rows = static_cast<double>(table.rows);
  if (rows <= 1) return std::min(rows, lookups);
  return rows * -std::expm1(lookups * std::log1p(-1 / rows));
}

BatchRows batch_rows(const EmbeddingTable& table, double lookups) {
  const double distinct = distinct_rows(table, lookups);
  if (distinct > 0 && table.location == TableLocation::Host) {
    return {.host_lookups = lookups, .host_distinct = distinct};
  }
  if (distinct > 0 && table.location == TableLocation::HostCached) {
    return with_cache(table, lookups, distinct);
  }
  return {.gpu_lookups = lookups, .gpu_distinct = distinct};
}

}  // namespace lockstep
