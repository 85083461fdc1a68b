#include "search/learned/table_features.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "ops/kernels/index_model.hpp"
#include "tests/support/sharding_tasks.hpp"

namespace lockstep::sharding::learned {
namespace {

using lockstep::testing::table;
using lockstep::testing::task;

TEST(TableFeatures, AreDimensionRowsPoolingSizeAndBins) {
  Table with_bins = table(1 << 20, 16, 2.5);
  with_bins.reuse[0] = 0.75;
  with_bins.reuse[16] = 0.25;
  const Matrix features = raw_features(task({with_bins}, 1));
  ASSERT_EQ(features.rows(), kFeatures);
  EXPECT_EQ(features(0, 0), 16);
  EXPECT_EQ(features(1, 0), 1 << 20);
  EXPECT_EQ(features(2, 0), 2.5);
  EXPECT_EQ(features(3, 0), 1.0 / 16);  // 2^20 x 16 x 4 bytes of 2^30
  EXPECT_EQ(features(4, 0), 0.75);
  EXPECT_EQ(features(20, 0), 0.25);
}

TEST(TableFeatures, TakeReuseFromTheIndexModelWhereNoneIsGiven) {
  // 2^10 rows, 2^16 samples of 1 lookup: 64 uses a row in the mean, even: (32, 64] and (64, 128].
  Table without = table(1 << 10, 16, 1);
  without.shape.index_skew = 0;
  const Matrix features = raw_features(task({without}, 1));
  EXPECT_NEAR(features.block(4, 0, 17, 1).sum(), 1, 1e-9);
  EXPECT_GT(features(4 + 6, 0) + features(4 + 7, 0), 0.99);
  const Matrix empty = raw_features(task({table(100, 16, 0)}, 1));
  EXPECT_EQ(empty.block(4, 0, 17, 1).sum(), 0);
}

TEST(TableFeatures, HaveBinsToAHundredth) {
  for (const double skew : {0.5, 1.6, 3.2}) {
    Table without = table(1'000'000, 16, 7);
    without.shape.index_skew = skew;
    const ReuseBins bins = reuse_of(without, 65536);
    const auto exact = reuse_bins(index_model(without.shape), 7.0 * 65536);
    for (std::size_t bin = 0; bin < bins.size(); ++bin) {
      EXPECT_NEAR(bins.at(bin), exact.at(bin), 0.01) << "skew " << skew << ", bin " << bin;
    }
  }
}

TEST(TableFeatures, AreScaledByMeanAndDeviation) {
  const Matrix raw = raw_features(task({table(100, 8, 1), table(300, 8, 3)}, 1));
  const std::vector<Matrix> all{raw};
  const FeatureScale scale = scale_of(all);
  EXPECT_NEAR(scale.mean[1], 200, 1e-9);
  EXPECT_NEAR(scale.deviation[1], 100, 1e-9);
  const Matrix features = scaled(raw, scale);
  EXPECT_NEAR(features(1, 0), -1, 1e-9);
  EXPECT_NEAR(features(2, 1), 1, 1e-9);
  EXPECT_EQ(features(0, 0), 0);  // all alike: no scale of its own
  EXPECT_EQ(features.bottomRows(17), raw.bottomRows(17));
}

}  // namespace
}  // namespace lockstep::sharding::learned
