#include "calibration/error_summary.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>

namespace lockstep {
namespace {

TEST(ErrorSummary, GeometricMeanIsThatOfLinEtAl) {
  // |e| + 4e-4: 0.01, 0.04 -> sqrt(0.01 * 0.04) = 0.02. Mean of 0.0096 and 0.0396; bias half their
  // difference.
  const ErrorSummary summary = summarise(std::array{-0.0096, 0.0396});
  EXPECT_EQ(summary.count, 2U);
  EXPECT_NEAR(summary.geometric_mean, 0.02, 1e-12);
  EXPECT_NEAR(summary.mean, 0.0246, 1e-12);
  EXPECT_NEAR(summary.bias, 0.015, 1e-12);
  EXPECT_NEAR(summary.largest, 0.0396, 1e-12);
}

TEST(ErrorSummary, APerfectPredictionLeavesTheGeometricMeanAboveZero) {
  // sqrt(4e-4 * 0.04) = 0.004
  EXPECT_NEAR(summarise(std::array{0.0, 0.0396}).geometric_mean, 0.004, 1e-12);
}

TEST(ErrorSummary, LargeErrorsKeepTheirColumn) {
  EXPECT_EQ(percent_cell(0.1234, 8), "    12.3");
  EXPECT_EQ(percent_cell(-0.1234, 8, true), "   -12.3");
  EXPECT_EQ(percent_cell(854.43, 8), " 85443.0");
  EXPECT_EQ(percent_cell(512.186, 8, true), "  +51219");
  EXPECT_EQ(percent_cell(123456.7, 8), "   1e+07");
}

TEST(ErrorSummary, PercentilesLieBetweenTwoErrors) {
  // 0.1 ... 0.4: the median half way from 0.2 to 0.3, nine tenths at 0.9 x 3 = 2.7 places.
  const ErrorSummary summary = summarise(std::array{0.4, -0.1, -0.3, 0.2});
  EXPECT_NEAR(summary.median, 0.25, 1e-12);
  EXPECT_NEAR(summary.ninetieth, 0.37, 1e-12);
}

TEST(ErrorSummary, NothingHasNoError) {
  const ErrorSummary summary = summarise({});
  EXPECT_EQ(summary.count, 0U);
  EXPECT_EQ(summary.geometric_mean, 0);
}

}  // namespace
}  // namespace lockstep
