/// @file
/// Rows with more lookups in a batch than one warp adds up, against the Poisson distribution.

#include <gtest/gtest.h>

#include <cmath>

#include "base/random.hpp"
#include "base/yaml_reader.hpp"
#include "ops/kernels/embedding_load.hpp"

namespace lockstep {
namespace {

constexpr double kRows = 10'000;
constexpr double kGradient = 1, kLong = 32, kWarps = 32, kBlockWaits = 10;  // ops/kernels/embedding_load.hpp

/// One update of a table whose rows have @p mean lookups each, by a batch of one lookup a sample: DRAM
/// gives each gradient once.
EmbeddingLoad update(double mean, double skew = 0) {
  EmbeddingTable table{.rows = static_cast<std::int64_t>(kRows), .dimension = 64, .pooling_factor = 1};
  table.index_skew = skew;
  const EmbeddingBags bags{
      .batch = static_cast<std::int64_t>(mean * kRows), .tables = {table}, .direction = Direction::Backward};
  return embedding_load(bags, DataType::FP32,
                        read_file<GpuSpec>(LOCKSTEP_SOURCE_DIR "/configs/gpus/v100_32gb.yaml"));
}

/// P(K > 32) and E[K; K > 32] of a Poisson variable.
struct Tail {
  double share = 0, lookups = 0;
};

Tail tail_of(double mean) {
  Tail tail{1, mean};
  double probability = std::exp(-mean);
  for (int k = 0; k <= static_cast<int>(kLong); ++k) {
    tail.share -= probability;
    tail.lookups -= k * probability;
    probability *= mean / (k + 1);
  }
  return tail;
}

double expected(const Tail& tail) {
  return kRows * (kBlockWaits * tail.share + kGradient * tail.lookups / kWarps);
}

TEST(EmbeddingSegments, OfUniformRowsFollowThePoissonDistribution) {
  for (const double mean : {45.0, 60.0, 174.0, 600.0}) {
    EXPECT_NEAR(update(mean).block_waits / expected(tail_of(mean)), 1, 0.02) << mean;
  }
  // The lognormal that stands for Poisson is 5 % of the rows off where half of the rows are long.
  for (const double mean : {10.0, 20.0, 28.0, 32.0, 36.0}) {
    EXPECT_NEAR(update(mean).block_waits, expected(tail_of(mean)), 0.06 * kRows * kBlockWaits) << mean;
  }
  EXPECT_LT(update(5).block_waits, 1e-6 * kRows);
}

/// Sums over 200,000 rows with popularities drawn; standard error of a share below 0.2 %.
TEST(EmbeddingSegments, OfSkewedRowsFollowTheirPopularities) {
  constexpr int kDrawn = 200'000;
  const Random random{7, "popularities"};
  for (const double skew : {1.6, 3.2}) {
    const double s = skew * std::log(2);
    for (const double mean : {8.0, 64.0}) {
      Tail sum;
      for (std::uint64_t i = 0; i < kDrawn; ++i) {
        const double u = 1 - random.uniform(2 * i), v = random.uniform(2 * i + 1);
        const double normal = std::sqrt(-2 * std::log(u)) * std::cos(2 * std::acos(-1.0) * v);
        const double of_row = mean * std::exp(s * normal - s * s / 2);
        const Tail tail = of_row > 600 ? Tail{1, of_row} : tail_of(of_row);
        sum.share += tail.share / kDrawn;
        sum.lookups += tail.lookups / kDrawn;
      }
      EXPECT_NEAR(update(mean, skew).block_waits / expected(sum), 1, 0.05) << skew << ", " << mean;
    }
  }
}

/// Zipf's law looks up the ranks up to (lookups / (32 sum))^(1 / z) more than 32 times.
TEST(EmbeddingSegments, OfZipfsLawAreItsFirstRanks) {
  constexpr double kZipf = 1.2, kLookups = 200'000;
  double sum = 0, long_sum = 0;
  for (int rank = 1; rank <= kRows; ++rank) {
    sum += std::pow(rank, -kZipf);
  }
  const double last = std::floor(std::pow(kLookups / (kLong * sum), 1 / kZipf));
  for (int rank = 1; rank <= last; ++rank) {
    long_sum += std::pow(rank, -kZipf);
  }
  EmbeddingTable table{.rows = static_cast<std::int64_t>(kRows), .dimension = 64, .zipf = kZipf};
  const EmbeddingBags bags{
      .batch = static_cast<std::int64_t>(kLookups), .tables = {table}, .direction = Direction::Backward};
  const EmbeddingLoad load = embedding_load(
      bags, DataType::FP32, read_file<GpuSpec>(LOCKSTEP_SOURCE_DIR "/configs/gpus/v100_32gb.yaml"));
  EXPECT_NEAR(load.block_waits / (kBlockWaits * last + kGradient * kLookups * long_sum / sum / kWarps), 1,
              0.05);
}

TEST(EmbeddingSegments, LongOnesHaveNoWarpOfTheirOwn) {
  const EmbeddingLoad all_long = update(174);
  EXPECT_LT(all_long.waits, 0.01 * kRows);
  const EmbeddingLoad none = update(4);
  // Rows that a batch of 4 lookups a row touches: 1 - exp(-4).
  EXPECT_NEAR(none.waits, kRows * (1 - std::exp(-4)) + kGradient * 4 * kRows, 1);
}

/// FBGEMM launches a block for each 1024 lookups, so that few lookups leave most SMs idle: 4,096 of 64 rows,
/// all long, are 16 rows for each of four blocks.
TEST(EmbeddingSegments, OfFewLookupsHaveFewBlocks) {
  const auto gpu = read_file<GpuSpec>(LOCKSTEP_SOURCE_DIR "/configs/gpus/v100_32gb.yaml");
  const auto waits = [&](std::int64_t rows) {
    const EmbeddingTable table{.rows = rows, .dimension = 64, .pooling_factor = 1};
    const EmbeddingBags bags{.batch = 64 * rows, .tables = {table}, .direction = Direction::Backward};
    return embedding_times(embedding_load(bags, DataType::FP32, gpu), bags.direction, gpu).block_waits /
           gpu.efficiency->row_latency;
  };
  const double of_row = kBlockWaits + kGradient * 64 / kWarps;
  EXPECT_NEAR(waits(64) / (16 * of_row), 1, 0.01);
  EXPECT_NEAR(waits(2) / (2 * of_row), 1, 0.01);
  EXPECT_NEAR(waits(80 * 160) / (160 * of_row), 1, 0.01);  // as many blocks as V100 has SMs
}

}  // namespace
}  // namespace lockstep
