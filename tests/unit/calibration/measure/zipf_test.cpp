#include "calibration/measure/zipf.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <set>
#include <stdexcept>
#include <vector>

namespace lockstep {
namespace {

/// Every rank's share of many draws is that of rank^-exponent, to five standard deviations.
TEST(Zipf, DrawsByItsLaw) {
  constexpr int kDraws = 200'000;
  constexpr std::int64_t kRanks = 20;
  for (const double exponent : {0.0, 0.5, 1.0, 1.2, 3.0}) {
    const Zipf zipf{kRanks, exponent};
    const Random random{3, "test"};
    std::vector<double> drawn(kRanks);
    for (int i = 0; i < kDraws; ++i) {
      drawn.at(static_cast<std::size_t>(zipf.draw(random, static_cast<std::uint64_t>(i)) - 1)) += 1;
    }
    double total = 0;
    for (std::int64_t rank = 1; rank <= kRanks; ++rank) {
      total += std::pow(static_cast<double>(rank), -exponent);
    }
    for (std::int64_t rank = 1; rank <= kRanks; ++rank) {
      const double expected = kDraws * std::pow(static_cast<double>(rank), -exponent) / total;
      EXPECT_NEAR(drawn[static_cast<std::size_t>(rank - 1)], expected, 5 * std::sqrt(expected) + 1)
          << "exponent " << exponent << " rank " << rank;
    }
  }
}

TEST(Zipf, OneRankIsAlwaysDrawn) {
  EXPECT_EQ((Zipf{1, 1.2}.draw(Random{1, "test"}, 0)), 1);
}

TEST(Zipf, RefusesNoRanks) {
  EXPECT_THROW((Zipf{0, 1}), std::logic_error);
}

TEST(RowOfRank, IsAPermutation) {
  for (const std::int64_t rows : {1, 2, 1000, 65536, 99991}) {
    std::set<std::int64_t> seen;
    for (std::int64_t rank = 1; rank <= rows; ++rank) {
      const std::int64_t row = row_of_rank(rank, rows);
      ASSERT_TRUE(row >= 0 && row < rows);
      seen.insert(row);
    }
    EXPECT_EQ(static_cast<std::int64_t>(seen.size()), rows);
  }
}

}  // namespace
}  // namespace lockstep
