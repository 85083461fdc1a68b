#include "calibration/indices/index_fit.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <array>
#include <cmath>
#include <map>
#include <stdexcept>

#include "base/error.hpp"
#include "tests/support/measured_table.hpp"

namespace lockstep {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::ThrowsMessage;

constexpr double kAnyRows = 1e12;

TEST(IndexFit, finds_the_model_that_made_the_points) {
  const IndexModel truth{.rows = 2e6, .skew = 2.6, .duplication = 3};
  std::vector<DistinctRows> points;
  for (double lookups = 1e4; lookups < 3e7; lookups *= 4) {
    points.push_back({lookups, distinct_rows(truth, lookups)});
  }
  const IndexFit fit = fit_index_model(points, kAnyRows);
  EXPECT_NEAR(fit.model.skew, truth.skew, 0.1);
  EXPECT_NEAR(fit.model.duplication, truth.duplication, 0.1);
  for (const double error : fit.errors) EXPECT_LT(std::abs(error), 0.005);
}

/// The first 1/64, 1/32, ... 1 of @p lookups.
std::vector<DistinctRows> points_of(const IndexModel& truth, double lookups) {
  std::vector<DistinctRows> points;
  for (double part = 64; part >= 1; part /= 2) {
    points.push_back({lookups / part, distinct_rows(truth, lookups / part)});
  }
  return points;
}

// 4,096 bags of 20 of a table of a million: sixteen times as many find 73 % of its rows.
TEST(IndexFit, equally_popular_rows_come_out_as_such) {
  const IndexModel truth{.rows = 1e6, .skew = 0, .duplication = 1};
  const auto points = points_of(truth, 81920);
  const IndexFit fit = fit_index_model(points, truth.rows);
  EXPECT_TRUE(fit.is_even);
  EXPECT_EQ(fit.model.skew, 0);
  EXPECT_EQ(fit.model.rows, truth.rows);
  EXPECT_EQ(fit.model.duplication, 1);
  for (const double error : fit.errors) EXPECT_LT(std::abs(error), 1e-9);
  EXPECT_THAT(index_doubts(fit, points, fit.errors), IsEmpty());
}

// Nearly so, in 30,000 active rows of a million: the points tell it, and no usual skew pulls.
TEST(IndexFit, rows_that_are_never_used_are_no_skew) {
  const IndexModel truth{.rows = 3e4, .skew = 0.3, .duplication = 1};
  const auto points = points_of(truth, 163840);
  const IndexFit fit = fit_index_model(points, 1e6);
  EXPECT_FALSE(fit.is_even);
  EXPECT_NEAR(fit.model.rows / truth.rows, 1, 0.02);
  EXPECT_LT(fit.model.skew, 0.6);
  const double more = 16 * points.back().lookups;
  EXPECT_NEAR(distinct_rows(fit.model, more) / distinct_rows(truth, more), 1, 0.02);
}

TEST(IndexFit, too_few_repeats_tell_nothing) {
  const std::vector<DistinctRows> few{{500, 500}, {1000, 1000}, {2000, 1999}};
  const IndexFit fit = fit_index_model(few, 1e6);
  EXPECT_TRUE(fit.is_even);
  EXPECT_THAT(index_doubts(fit, few, fit.errors),
              ElementsAre(HasSubstr("1 of 2000 lookups found a row of before: too few to tell")));
  // 190 lookups would find a row again, of 10,000: these were drawn without putting back, or renumbered.
  const IndexFit fewer = fit_index_model(few, 1e4);
  EXPECT_TRUE(fewer.is_even);
  EXPECT_THAT(
      index_doubts(fewer, few, fewer.errors),
      Contains(HasSubstr("1 of 2000 lookups found a row of before, of rows drawn at random 187 would")));
}

// Sorted: the first half of the lookups finds a row or two, the rest all others.
TEST(IndexFit, sorted_indices_are_doubtful) {
  const std::vector<DistinctRows> sorted{{64, 1},   {128, 1},  {256, 1},   {512, 1},
                                         {1024, 1}, {2048, 6}, {4096, 811}};
  const IndexFit fit = fit_index_model(std::vector<DistinctRows>{sorted[0], sorted[3], sorted[6]}, 1e5);
  std::vector<double> held_out;
  for (const std::size_t i : {1U, 2U, 4U, 5U}) {
    held_out.push_back(distinct_rows(fit.model, sorted[i].lookups) / sorted[i].distinct - 1);
  }
  EXPECT_THAT(index_doubts(fit, sorted, held_out),
              ElementsAre(HasSubstr("are the lines of one table, as the samples came (not sorted)")));
}

TEST(IndexFit, impossible_points_are_refused) {
  EXPECT_THROW((void)fit_index_model(std::vector<DistinctRows>{{10, 5}, {20, 8}}, kAnyRows),
               std::invalid_argument);
  EXPECT_THROW((void)fit_index_model(std::vector<DistinctRows>{{10, 5}, {20, 8}, {30, 31}}, kAnyRows),
               std::invalid_argument);
  EXPECT_THROW((void)fit_index_model(std::vector<DistinctRows>{{10, 5}, {30, 8}, {30, 9}}, kAnyRows),
               std::invalid_argument);
}

constexpr double kRows = 1000;

// 64 bags of the same two rows and a new one each: 1/64 has 3 different rows, all of them 66.
TEST(IndexFit, parts_of_a_file) {
  std::string text = "# a comment\n";
  for (int bag = 0; bag < 64; ++bag) text += "7 8, " + std::to_string(100 + bag) + "\n";
  const auto points = distinct_rows_of_parts(text, "indices.txt", kRows);
  ASSERT_EQ(points.size(), 7U);
  EXPECT_EQ(points.front().lookups, 3);
  EXPECT_EQ(points.front().distinct, 3);
  EXPECT_EQ(points.back().lookups, 192);
  EXPECT_EQ(points.back().distinct, 66);
}

TEST(IndexFit, a_row_that_the_table_has_not_is_told_with_its_line) {
  EXPECT_THAT([] { (void)distinct_rows_of_parts("1 999\n3 1000\n", "indices.txt", kRows); },
              ThrowsMessage<InputError>(HasSubstr("indices.txt:2: row 1000 of a table of 1000")));
}

TEST(IndexFit, what_is_no_row_number_is_told_with_its_line) {
  try {
    (void)distinct_rows_of_parts("1 2\n3 x\n", "indices.txt", kRows);
    FAIL() << "accepted";
  } catch (const InputError& problem) {
    EXPECT_THAT(problem.what(), HasSubstr("indices.txt:2"));
  }
}

// Three of seven batch sizes are fitted (2,048, 16,384, 131,072); the others are within 6 %. The table f0,
// whose shares are rounded to one digit, is left out.
TEST(IndexFit, different_rows_of_real_tables_at_batches_that_were_held_out) {
  const auto file = testing::measured("embedding/unique_fraction_vs_batch_2022.csv");
  if (!std::filesystem::exists(file)) GTEST_SKIP() << "no measurements at " << file;
  std::map<std::string, std::vector<DistinctRows>> tables;
  for (const testing::Row& row : testing::read_table(file)) {
    const double lookups = std::stod(row.at("batch"));
    if (row.at("table_key") == "f0") continue;
    tables[row.at("table_key")].push_back({lookups, lookups * std::stod(row.at("unique_over_indices"))});
  }
  ASSERT_EQ(tables.size(), 4U);
  for (const auto& [name, points] : tables) {
    ASSERT_EQ(points.size(), 7U);
    const IndexFit fit =
        fit_index_model(std::vector<DistinctRows>{points[0], points[3], points[6]}, kAnyRows);
    double worst = 0;
    for (const std::size_t held_out : {1U, 2U, 4U, 5U}) {
      const DistinctRows& point = points[held_out];
      worst = std::max(worst, std::abs(distinct_rows(fit.model, point.lookups) / point.distinct - 1));
    }
    fmt::print("{}: skew {:.2f}, duplication {:.2f}, worst held-out error {:.1f} %\n", name, fit.model.skew,
               fit.model.duplication, 100 * worst);
    EXPECT_LT(worst, 0.06) << name;
  }
}

// Rates as the table gives them: log2 of the median uses in a batch, and skew. rows and lookups follow with
// any scale: lookups / rows = 2^median exp((skew ln 2)^2 / 2).
TEST(IndexFit, bins_of_ten_real_tables) {
  const auto file = testing::measured("embedding/real_table_bins_10_digitised.csv");
  if (!std::filesystem::exists(file)) GTEST_SKIP() << "no measurements at " << file;
  int within = 0, tables = 0;
  for (const testing::Row& row : testing::read_table(file)) {
    const double median = std::stod(row.at("fit_log2_rate_median"));
    const double skew = std::stod(row.at("fit_log2_rate_sigma"));
    const double natural = skew * std::log(2.0);
    const double lookups = 1e6 * std::exp2(median) * std::exp(natural * natural / 2);
    const auto bins = reuse_bins(IndexModel{.rows = 1e6, .skew = skew}, lookups);
    double measured = 0, predicted = 0, whole = 0, worst = 0;
    for (std::size_t bin = 0; bin < bins.size(); ++bin)
      whole += std::stod(row.at("bin_" + std::to_string(bin)));
    for (std::size_t bin = 0; bin < bins.size(); ++bin) {
      measured += std::stod(row.at("bin_" + std::to_string(bin))) / whole;
      predicted += bins.at(bin);
      worst = std::max(worst, std::abs(predicted - measured));
    }
    fmt::print("table {}: largest distance of the cumulated bins {:.1f} %\n", row.at("table_index"),
               100 * worst);
    EXPECT_LT(worst, 0.05) << row.at("table_index");
    within += worst < 0.02 ? 1 : 0;
    ++tables;
  }
  EXPECT_EQ(tables, 10);
  EXPECT_GE(within, 9);
}

}  // namespace
}  // namespace lockstep
