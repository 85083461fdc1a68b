// Kernels of an H100 and an H200 beside what was measured (calibration/measurements), one or two of each
// mechanism.

#include <gtest/gtest.h>

#include "base/parameters.hpp"
#include "base/yaml_reader.hpp"
#include "ops/kernel_model.hpp"

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

// step_products.csv, H200: kernels of training steps. What a kernel between two events takes is 3 us more.
TEST(HopperKernels, ProductsOfSmallStepsTakeAFewMicroseconds) {
  expect_within(kFifth,
                microseconds(DataType::BF16, Gemm{.m = 1024, .n = 768, .k = 768, .transpose_b = true}), 5.40);
  expect_within(
      kFifth, microseconds(DataType::BF16, Gemm{.m = 1024, .n = 3072, .k = 768, .transpose_b = true}), 9.91);
  expect_within(kFifth, microseconds(DataType::TF32, Gemm{.m = 2048, .n = 1, .k = 256, .transpose_b = true}),
                2.82);
}

// There, TF32: a recommender's interaction runs on FP32's cores, whose kernels do not mind 27 columns;
// aligned products of its size do not.
TEST(HopperKernels, Tf32LeavesTensorCoresWhereRowsAreNotAligned) {
  const Gemm interaction{.batch = 2048, .m = 27, .n = 27, .k = 128, .transpose_b = true};
  expect_within(kFifth, microseconds(DataType::TF32, interaction), 27.0);
  EXPECT_EQ(microseconds(DataType::TF32, interaction), microseconds(DataType::FP32, interaction));
  const Gemm aligned{.m = 4096, .n = 4096, .k = 4096, .transpose_b = true};
  EXPECT_LT(microseconds(DataType::TF32, aligned), 0.3 * microseconds(DataType::FP32, aligned));
}

// The steps' traces: a pass of AdamW over some 20 million parameters, Llama's in BF16, GPT-2's in FP32.
TEST(HopperKernels, ChunksOfManyTensorsWaitIn16Bits) {
  const auto pass = [](DataType type, const std::string& gpu) {
    return microseconds(
        type, OptimizerUpdate{.parameters = 20'600'000, .tensors = 10, .reads = 1, .flops = 1}, gpu);
  };
  expect_within(kTenth, pass(DataType::BF16, "h200_141gb_boost"), 28.0);
  expect_within(kTenth, pass(DataType::BF16, "h100_80gb_cublas_13_boost"), 35.0);
  expect_within(kTenth, pass(DataType::FP32, "h100_80gb_cublas_13_boost"), 62.5);
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

// pytorch_experts.csv, H200, without the kernel of 1.7 us before it. 1,408 columns are six tiles of 256,
// whatever is left over; 128 rows a group run tiles of 64 x 128.
TEST(HopperKernels, GroupedProductsHaveTilesOfOneShape) {
  const auto grouped = [](std::int64_t groups, std::int64_t rows, std::int64_t columns) {
    return microseconds(DataType::BF16,
                        Gemm{.batch = groups, .m = rows, .n = columns, .k = 2048, .grouped = true});
  };
  expect_within(kTenth, grouped(64, 512, 1408), 290.3);
  expect_within(kTenth, grouped(128, 512, 768), 301.2);
  expect_within(kTenth, grouped(128, 128, 768), 138.6);
  EXPECT_NEAR(grouped(64, 512, 1408) / grouped(64, 512, 1536), 1, 0.03);
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

}  // namespace
}  // namespace lockstep
