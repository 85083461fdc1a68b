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
  // 200 lookups are of fewer rows than 300: none is replaced
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

/// Reads of an update, one after the other: for each row its samples in their order, then @p others that are
/// never read again.
struct Reads {
  std::vector<std::size_t> keys;
  std::size_t others = 0;
};

Reads of_an_update(std::size_t bags, std::size_t pooling, std::size_t others) {
  constexpr std::size_t kRows = 20'011, kStep = 7919;  // primes: popular rows lie anywhere
  const auto drawn = draws(by_zipf(kRows, 0.8), bags * pooling);
  std::vector<std::vector<std::size_t>> samples(kRows);
  for (std::size_t i = 0; i < drawn.size(); ++i) {
    samples[drawn[i] * kStep % kRows].push_back(i / pooling);
  }
  Reads reads;
  for (const auto& of_row : samples) {
    reads.keys.insert(reads.keys.end(), of_row.begin(), of_row.end());
    for (std::size_t i = 0; i < others && !of_row.empty(); ++i) {
      reads.keys.push_back(bags + reads.others++);
    }
  }
  return reads;
}

TEST(PooledRows, MissAsTheLeastRecentlyUsedOneIsReplaced) {
  constexpr std::size_t kBags = 4000;
  for (const std::size_t pooling : {1, 3, 20}) {
    for (const std::size_t others : {0, 1}) {
      const Reads reads = of_an_update(kBags, pooling, others);
      const auto passing = static_cast<double>(reads.others);
      for (const std::size_t places : {300, 1500, 3000}) {
        const double missed = missed_pooled_rows({.bags = kBags,
                                                  .draws = static_cast<double>(pooling * kBags),
                                                  .places = static_cast<double>(places),
                                                  .others = passing});
        EXPECT_NEAR(missed / (missed_by_a_cache(reads.keys, places) - passing), 1, 0.03)
            << pooling << ", " << places << ", " << others;
      }
    }
  }
}

TEST(PooledRows, ThatFitAreReadOnce) {
  EXPECT_EQ(missed_pooled_rows({.bags = 1000, .draws = 20'000, .places = 1500, .others = 500}), 1000);
  EXPECT_EQ(missed_pooled_rows({.bags = 1000, .draws = 300, .places = 10}), 300);  // bags without lookups
  EXPECT_EQ(missed_pooled_rows({.bags = 1000, .draws = 1000, .places = 10}), 1000);
  EXPECT_EQ(missed_pooled_rows({.bags = 1000, .draws = 20'000, .places = 0}), 20'000);
  EXPECT_EQ(missed_pooled_rows({.bags = 0, .draws = 0, .places = 10}), 0);
}

// A cache of a quarter of them hits a quarter of all reads but the first of each.
TEST(PooledRows, OfAFullCacheHitItsShare) {
  EXPECT_NEAR(missed_pooled_rows({.bags = 1000, .draws = 20'000, .places = 250}), 1000 + 0.75 * 19'000, 1);
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
