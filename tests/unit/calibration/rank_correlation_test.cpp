#include "calibration/rank_correlation.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <stdexcept>

namespace lockstep {
namespace {

TEST(RankCorrelation, OfTheSameAndTheOppositeOrder) {
  EXPECT_NEAR(*rank_correlation(std::array{1.0, 2.0, 30.0}, std::array{4.0, 5.0, 6.0}), 1, 1e-12);
  EXPECT_NEAR(*rank_correlation(std::array{1.0, 2.0, 30.0}, std::array{6.0, 5.0, 4.0}), -1, 1e-12);
}

TEST(RankCorrelation, FollowsTheFormulaOfSquaredDifferences) {
  // 1 - 6 sum d^2 / (n (n^2 - 1)) without ties; d = 1, 1, 0, 0: 1 - 12 / 60.
  EXPECT_NEAR(*rank_correlation(std::array{1.0, 2.0, 3.0, 4.0}, std::array{2.0, 1.0, 3.0, 4.0}), 0.8, 1e-12);
}

TEST(RankCorrelation, EqualValuesShareTheirRanks) {
  // Ranks 0, 1.5, 1.5, 3 and 0, 1, 2, 3: covariance 4.5, variances 4.5 and 5.
  EXPECT_NEAR(*rank_correlation(std::array{1.0, 2.0, 2.0, 3.0}, std::array{1.0, 2.0, 3.0, 4.0}),
              4.5 / std::sqrt(4.5 * 5), 1e-12);
}

TEST(RankCorrelation, IsNoneWhereThereIsNoOrder) {
  EXPECT_FALSE(rank_correlation(std::array{1.0}, std::array{2.0}).has_value());
  EXPECT_FALSE(rank_correlation(std::array{1.0, 1.0}, std::array{2.0, 3.0}).has_value());
  EXPECT_THROW(static_cast<void>(rank_correlation(std::array{1.0, 2.0}, std::array{2.0})), std::logic_error);
}

}  // namespace
}  // namespace lockstep
