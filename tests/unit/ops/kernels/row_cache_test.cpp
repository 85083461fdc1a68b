/// @file
/// Misses of a cache of rows by Che's approximation, against a cache that replaces the least recently used
/// row.

#include "ops/kernels/row_cache.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <list>
#include <unordered_map>
#include <vector>

#include "base/random.hpp"

namespace lockstep {
namespace {

/// Rows drawn with their popularities, one after the other.
std::vector<std::size_t> draws(const std::vector<double>& popularities, std::size_t count) {
  std::vector<double> up_to(popularities.size());
  double sum = 0;
  for (std::size_t i = 0; i < popularities.size(); ++i) {
    up_to[i] = sum += popularities[i];
  }
  const Random random{3, "draws"};
  std::vector<std::size_t> rows(count);
  for (std::size_t i = 0; i < count; ++i) {
    rows[i] =
        static_cast<std::size_t>(std::ranges::upper_bound(up_to, random.uniform(i) * sum) - up_to.begin());
  }
  return rows;
}

double missed_by_a_cache(const std::vector<std::size_t>& rows, std::size_t places) {
  std::list<std::size_t> by_age;  // the latest first
  std::unordered_map<std::size_t, std::list<std::size_t>::iterator> held;
  double missed = 0;
  for (const std::size_t row : rows) {
    if (const auto found = held.find(row); found != held.end()) {
      by_age.erase(found->second);
    } else {
      ++missed;
      if (held.size() == places) {
        held.erase(by_age.back());
        by_age.pop_back();
      }
    }
    by_age.push_front(row);
    held[row] = by_age.begin();
  }
  return missed;
}

std::vector<double> by_zipf(std::size_t rows, double exponent) {
  std::vector<double> popularities(rows);
  for (std::size_t i = 0; i < rows; ++i) {
    popularities[i] = std::pow(static_cast<double>(i + 1), -exponent);
  }
  return popularities;
}

TEST(RowCache, MissesAsTheLeastRecentlyUsedRowIsReplaced) {
  for (const double exponent : {0.0, 0.5, 0.8, 1.0, 1.2}) {
    const auto rows = draws(by_zipf(5000, exponent), 60'000);
    for (const std::size_t places : {20, 400, 3000}) {
      const double missed =
          missed_lookups({.rows = 5000, .zipf = exponent}, static_cast<double>(places), 60'000);
      EXPECT_NEAR(missed / missed_by_a_cache(rows, places), 1, 0.03) << exponent << ", " << places;
    }
  }
}

TEST(RowCache, MissesOfLognormalRowsAreThoseOfTheirPopularities) {
  constexpr double kSkew = 2;
  const double s = kSkew * std::log(2);
  std::vector<double> popularities;
  const Random random{5, "popularities"};
  for (std::uint64_t i = 0; i < 5000; ++i) {
    const double u = 1 - random.uniform(2 * i), v = random.uniform(2 * i + 1);
    popularities.push_back(std::exp(s * std::sqrt(-2 * std::log(u)) * std::cos(2 * std::acos(-1.0) * v)));
  }
  const auto rows = draws(popularities, 60'000);
  for (const std::size_t places : {100, 1000}) {
    const double missed = missed_lookups({.rows = 5000, .skew = kSkew}, static_cast<double>(places), 60'000);
    EXPECT_NEAR(missed / missed_by_a_cache(rows, places), 1, 0.05) << places;
  }
}

TEST(RowCache, HoldsAllRowsThatFit) {
  const IndexModel model{.rows = 1000, .zipf = 1};
  EXPECT_EQ(missed_lookups(model, 1000, 5000), distinct_rows(model, 5000));
  // 200 look-ups are of fewer rows than 300: none is replaced
  EXPECT_EQ(missed_lookups(model, 300, 200), distinct_rows(model, 200));
}

TEST(RowCache, OfNoPlacesMissesEveryDraw) {
  EXPECT_EQ(missed_lookups({.rows = 1000}, 0, 500), 500);
  EXPECT_EQ(missed_lookups({.rows = 1000, .duplication = 4}, 0, 500), 125);  // repeats follow at once
  EXPECT_EQ(missed_lookups({.rows = 1000}, 10, 0), 0);
}

// All rows alike: a full cache of a quarter of them misses three in four.
TEST(RowCache, MissesTheShareOfEvenRowsThatItHasNot) {
  const IndexModel model{.rows = 1e6};
  EXPECT_NEAR(missed_lookups(model, 250'000, 3e6) - missed_lookups(model, 250'000, 2e6), 750'000, 1);
}

// A larger cache never misses more.
TEST(RowCache, MissesLessTheLargerItIs) {
  for (const IndexModel& model : {IndexModel{.rows = 1e6}, IndexModel{.rows = 1e6, .skew = 3.2},
                                  IndexModel{.rows = 1e6, .zipf = 1.05}}) {
    double before = missed_lookups(model, 1, 1e6);
    for (double places = 4; places < 4e6; places *= 4) {
      const double missed = missed_lookups(model, places, 1e6);
      EXPECT_LE(missed, before * (1 + 1e-9)) << places;
      before = missed;
    }
  }
}

}  // namespace
}  // namespace lockstep
