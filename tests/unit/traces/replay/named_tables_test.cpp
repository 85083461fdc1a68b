#include "traces/replay/named_tables.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>

namespace lockstep::replay {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

/// Criteo's, as two of five ranks may have them: rows of 128 columns, bags of different length.
std::vector<EmbeddingTable> named() {
  return {{.rows = 40'000'000, .dimension = 128, .pooling_factor = 3, .index_skew = 2.4},
          {.rows = 39'060, .dimension = 128, .pooling_factor = 2},
          {.rows = 1543, .dimension = 128, .pooling_factor = 1},
          {.rows = 40'000'000, .dimension = 128, .pooling_factor = 12},
          {.rows = 17'295, .dimension = 128, .pooling_factor = 1}};
}

RecordedLookup lookup(std::int64_t tables, double weights, std::int64_t lookups) {
  return {.tables = tables, .batch = 128, .lookups = lookups, .weights = weights};
}

std::vector<std::int64_t> rows_of(const std::vector<EmbeddingTable>& tables) {
  std::vector<std::int64_t> rows;
  for (const EmbeddingTable& table : tables) rows.push_back(table.rows);
  return rows;
}

TEST(NamedTables, AreThoseWhoseElementsAddUp) {
  const auto made = tables_of(lookup(2, 128.0 * (39'060 + 1543), 384), 0, named());
  EXPECT_THAT(rows_of(made), ElementsAre(39'060, 1543));
  EXPECT_EQ(made[0].dimension, 128);
}

// Trained with 16 columns instead of the model's 128.
TEST(NamedTables, AreAsWideAsRecorded) {
  const auto made = tables_of(lookup(3, 16.0 * 40'040'603, 768), 48, named());
  EXPECT_THAT(rows_of(made), ElementsAre(40'000'000, 39'060, 1543));
  EXPECT_EQ(made[0].dimension, 16);
  EXPECT_EQ(made[0].index_skew, 2.4);
}

// Two tables have 40 million rows; 13 lookups of a sample are 12 and 1, 4 are 3 and 1.
TEST(NamedTables, AreToldApartByTheirLookups) {
  const double weights = 128.0 * (40'000'000 + 17'295);
  EXPECT_EQ(tables_of(lookup(2, weights, 13 * 128), 256, named())[0].pooling_factor, 12);
  EXPECT_EQ(tables_of(lookup(2, weights, 4 * 128), 256, named())[0].pooling_factor, 3);
}

// 1,500 lookups where the named pooling factors say 1,664.
TEST(NamedTables, HaveTheRecordedLookups) {
  const auto made = tables_of(lookup(2, 128.0 * (40'000'000 + 17'295), 1500), 256, named());
  EXPECT_NEAR(128 * (made[0].pooling_factor + made[1].pooling_factor), 1500, 1e-9);
  EXPECT_NEAR(made[0].pooling_factor / made[1].pooling_factor, 12, 1e-9);
}

TEST(NamedTables, OfAnotherJobAreAnError) {
  EXPECT_THAT([] { (void)tables_of(lookup(6, 1e6, 768), 96, named()); },
              ThrowsMessage<std::invalid_argument>(HasSubstr("over 6 tables, and 5 are named")));
  EXPECT_THAT([] { (void)tables_of(lookup(2, 3200, 768), 32, named()); },
              ThrowsMessage<std::invalid_argument>(HasSubstr("200 rows of 16 columns")));
}

// 40 tables whose rows are powers of two and one more: half of them are found at once, an odd sum is not
// there.
TEST(NamedTables, OfManyAreFound) {
  std::vector<EmbeddingTable> many;
  double weights = 0;
  for (int i = 0; i < 40; ++i) {
    many.push_back({.rows = (std::int64_t{1} << (i / 2)) + 2 * (i % 2), .dimension = 4});
    weights += i % 2 == 0 ? 4.0 * static_cast<double>(many.back().rows) : 0;
  }
  const auto made = tables_of(lookup(20, weights, 20 * 128), 80, many);
  double found = 0;
  for (const EmbeddingTable& table : made) found += 4.0 * static_cast<double>(table.rows);
  EXPECT_EQ(found, weights);
}

}  // namespace
}  // namespace lockstep::replay
