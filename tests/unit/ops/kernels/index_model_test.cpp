#include "ops/kernels/index_model.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "ops/kernels/embedding_rows.hpp"

namespace lockstep {
namespace {

// All rows alike: rows (1 - exp(-L / rows)), as Poisson draws have it.
TEST(IndexModel, without_skew_rows_are_drawn_evenly) {
  EXPECT_NEAR(distinct_rows(IndexModel{.rows = 1000}, 500), 1000 * (1 - std::exp(-0.5)), 1e-9);
  EXPECT_EQ(distinct_rows(IndexModel{.rows = 1000}, 0), 0);
}

// Few lookups meet no row twice, but each index comes `duplication` times.
TEST(IndexModel, few_lookups_are_all_different_but_for_their_duplicates) {
  EXPECT_NEAR(distinct_rows(IndexModel{.rows = 1e12, .skew = 2}, 1000), 1000, 1e-2);
  EXPECT_NEAR(distinct_rows(IndexModel{.rows = 1e12, .skew = 2, .duplication = 4}, 1000), 250, 1e-2);
}

TEST(IndexModel, many_lookups_touch_all_rows) {
  EXPECT_NEAR(distinct_rows(IndexModel{.rows = 1000, .skew = 1}, 1e9), 1000, 1e-3);
}

// Uses of a row are Poisson without skew: with a mean of 2, P(1) = 2 e^-2, P(2) = 2 e^-2, P(3) + P(4) =
// (8/6 + 16/24) e^-2, over 1 - e^-2.
TEST(IndexModel, bins_of_even_draws_are_poissons) {
  const auto bins = reuse_bins(IndexModel{.rows = 1e6}, 2e6);
  const double none = std::exp(-2.0);
  EXPECT_NEAR(bins[0], 2 * none / (1 - none), 1e-9);
  EXPECT_NEAR(bins[1], 2 * none / (1 - none), 1e-9);
  EXPECT_NEAR(bins[2], 2 * none / (1 - none), 1e-9);
}

TEST(IndexModel, bins_add_up_to_1) {
  for (const double skew : {0.0, 1.6, 3.2}) {
    for (const double lookups : {10.0, 1e5, 1e9}) {
      const auto bins = reuse_bins(IndexModel{.rows = 1e6, .skew = skew, .duplication = 1.5}, lookups);
      EXPECT_NEAR(std::accumulate(bins.begin(), bins.end(), 0.0), 1, 1e-12);
      EXPECT_GE(*std::min_element(bins.begin(), bins.end()), 0);
    }
  }
}

TEST(IndexModel, no_lookups_fill_no_bins) {
  EXPECT_EQ(reuse_bins(IndexModel{}, 0), (std::array<double, 17>{}));
}

// Half the rows in half the lookups: a row-wise shard keeps the reuse of its table.
TEST(IndexModel, a_shard_by_rows_reuses_as_its_table_does) {
  EmbeddingTable whole{.rows = 1'000'000, .dimension = 64, .pooling_factor = 20};
  whole.index_skew = 2.5;
  whole.active_rows = 0.3;
  whole.index_duplication = 2;
  EmbeddingTable half = whole;
  half.rows /= 2;
  EXPECT_NEAR(2 * distinct_rows(half, 40'000), distinct_rows(whole, 80'000), 1e-6);
  EXPECT_LT(distinct_rows(whole, 80'000), 40'000);
}

// Rank r is drawn with the probability r^-z / sum.
TEST(IndexModel, zipfs_law_touches_the_rows_that_its_ranks_say) {
  for (const double zipf : {0.5, 1.0, 1.2}) {
    constexpr int kRows = 20'000;
    double sum = 0;
    for (int rank = 1; rank <= kRows; ++rank) {
      sum += std::pow(rank, -zipf);
    }
    for (const double lookups : {100.0, 5000.0, 1e6}) {
      double touched = 0;
      for (int rank = 1; rank <= kRows; ++rank) {
        touched -= std::expm1(-lookups * std::pow(rank, -zipf) / sum);
      }
      EXPECT_NEAR(distinct_rows(IndexModel{.rows = kRows, .zipf = zipf}, lookups) / touched, 1, 1e-3)
          << zipf << ", " << lookups;
    }
  }
}

TEST(IndexModel, popularities_have_a_mean_of_1) {
  for (const IndexModel& model : {IndexModel{.rows = 1}, IndexModel{.rows = 1e7, .zipf = 1.2},
                                  IndexModel{.rows = 1000, .skew = 2}, IndexModel{.rows = 150, .zipf = 1}}) {
    EXPECT_NEAR(mean_over_rows(model, [](double w) { return w; }), 1, 1e-6);
  }
}

TEST(IndexModel, a_table_says_zipfs_exponent) {
  EmbeddingTable table{.rows = 1000, .zipf = 1.2};
  EXPECT_EQ(distinct_rows(table, 500), distinct_rows(IndexModel{.rows = 1000, .zipf = 1.2}, 500));
  EXPECT_LT(distinct_rows(table, 500), 0.7 * distinct_rows(EmbeddingTable{.rows = 1000}, 500));
}

TEST(IndexModel, a_given_reuse_factor_wins) {
  EmbeddingTable table{.rows = 1'000'000, .dimension = 64, .pooling_factor = 20, .reuse_factor = 4};
  table.index_skew = 2.5;
  EXPECT_EQ(distinct_rows(table, 80'000), 20'000);
}

}  // namespace
}  // namespace lockstep
