// Kernels of an H100 and an H200 beside what was measured (calibration/measurements), one or two of each
// mechanism.

#include <gtest/gtest.h>

#include "base/parameters.hpp"
#include "base/yaml_reader.hpp"
#include "ops/kernel_model.hpp"
#include "ops/kernels/embedding_rows.hpp"

namespace lockstep {
namespace {

double microseconds(DataType type, const KernelWork& work, const std::string& gpu = "h200_141gb_boost") {
  const KernelCall call{"kernel", type, work};
  const auto spec = read_file<GpuSpec>(LOCKSTEP_SOURCE_DIR "/configs/gpus/" + gpu + ".yaml");
  return model_for(call).predict(call, spec).duration / Seconds{1e-6};
}

constexpr double kTenth = 0.1, kFifth = 0.2;

void expect_within(double part, double predicted, double measured) {
  EXPECT_NEAR(predicted / measured, 1, part) << predicted << " us predicted, " << measured << " measured";
}

// pytorch_products.csv, H200, bf16 nn, 16384 x 768 with k = 50304, 50258 and 50257.
TEST(HopperKernels, ProductsOfOddSizesFallBackToOlderKernels) {
  const auto head = [](std::int64_t vocabulary, DataType type) {
    return microseconds(type, Gemm{.m = 16384, .n = 768, .k = vocabulary});
  };
  expect_within(kFifth, head(50304, DataType::BF16), 1616.0);
  expect_within(kFifth, head(50258, DataType::BF16), 4811.9);
  expect_within(kFifth, head(50257, DataType::BF16), 8982.4);
  expect_within(kFifth, head(50257, DataType::TF32), 9770.2);
  EXPECT_NEAR(head(50257, DataType::TF32) / head(50258, DataType::TF32), 1, 0.01);  // 4 bytes both
}

// gemm.csv and pytorch_products.csv: a gradient of weights in TF32 takes longer than a forward pass of its
// size.
TEST(HopperKernels, Tf32ReadsBothOperandsAlongK) {
  const Gemm forward{.m = 4096, .n = 4096, .k = 4096, .transpose_b = true};
  Gemm gradient = forward;
  gradient.transpose_a = true;
  gradient.transpose_b = false;
  EXPECT_GT(microseconds(DataType::TF32, gradient), 1.2 * microseconds(DataType::TF32, forward));
  EXPECT_NEAR(microseconds(DataType::BF16, gradient) / microseconds(DataType::BF16, forward), 1, 1e-9);
}

// pytorch_normalisation.csv: forward is arithmetic, so that H200's memory gains nothing.
TEST(HopperKernels, LayerNormIsNotItsBytes) {
  const LayerNorm norm{.rows = 16384, .columns = 768};
  expect_within(kTenth, microseconds(DataType::FP32, norm), 47.0);
  expect_within(kTenth, microseconds(DataType::FP32, norm, "h100_80gb"), 48.0);
  expect_within(kTenth, microseconds(DataType::BF16, LayerNorm{.rows = 65536, .columns = 512}), 117.3);
}

TEST(HopperKernels, GradientsOfGainAndBiasKeepFewSmsBusy) {
  const auto gain = [](std::int64_t rows, std::int64_t columns) {
    return microseconds(
        DataType::FP32,
        LayerNorm{.rows = rows, .columns = columns, .part = LayerNorm::Part::ParameterGradient});
  };
  expect_within(kTenth, gain(16384, 768), 79.0);
  expect_within(kTenth, gain(8192, 4096), 69.3);
}

// pytorch_reduction.csv: a sum of rows goes down them.
TEST(HopperKernels, SumsAcrossRowsTakeLongerThanAlongThem) {
  const auto sum = [](bool across) {
    return microseconds(DataType::FP32, Reduction{.rows = 16384, .columns = 768, .across_rows = across});
  };
  expect_within(kFifth, sum(true), 31.9);
  expect_within(kFifth, sum(false), 15.8);
}

// pytorch_images.csv, H200, BF16: 64 images of 56 x 56 with 256 channels, the statistics alone forward.
TEST(HopperKernels, BatchNormOfBf16IsPyTorchsOwn) {
  BatchNorm norm{.batch = 64, .channels = 256, .pixels = 3136, .own = true};
  expect_within(kTenth, microseconds(DataType::BF16, norm), 190.8);
  norm.direction = Direction::Backward;
  expect_within(kFifth, microseconds(DataType::BF16, norm), 443.9);
}

TEST(PopularRows, AreTheirShareOfALognormal) {
  EmbeddingTable table{.rows = 1000};
  EXPECT_NEAR(popular_share(table, 250), 0.25, 1e-9);
  EXPECT_EQ(popular_share(table, 1000), 1);
  table.index_duplication = 2;  // every other look-up comes right behind its like
  EXPECT_NEAR(popular_share(table, 250), 0.5 + 0.5 * 0.25, 1e-9);
  table = {.rows = 1'000'000, .index_skew = 2};
  const double hundredth = popular_share(table, 10'000);  // P(2 ln 2 - 2.3263)
  EXPECT_NEAR(hundredth, 0.1736, 1e-3);
  table.reuse_factor = 3;  // which does not say whose look-ups they are
  EXPECT_EQ(popular_share(table, 10'000), 0);
}

// embedding.csv, H100: 8 tables of 1,000 rows of 128, 2,048 samples of 100 look-ups each, uniform: 91.7 us,
// where the level-2 cache alone needs 168.
TEST(PopularRows, AreInTheSmsOwnCache) {
  EmbeddingBags bags{.batch = 2048};
  bags.tables.assign(8, EmbeddingTable{.rows = 1000, .dimension = 128, .pooling_factor = 100});
  expect_within(0.3, microseconds(DataType::FP32, bags, "h100_80gb"), 91.7);
}

}  // namespace
}  // namespace lockstep
