// Kernels that are not vectorised against measured times; sources beside kUnvectorised.

#include <gtest/gtest.h>

#include "base/yaml_reader.hpp"
#include "ops/kernel_model.hpp"
#include "ops/workload/layers/kernels.hpp"

namespace lockstep::kernels {
namespace {

using namespace lockstep::literals;

double us(const KernelCall& call, const std::string& gpu) {
  const auto spec = read_file<GpuSpec>(LOCKSTEP_SOURCE_DIR "/configs/gpus/" + gpu + ".yaml");
  return model_for(call).predict(call, spec).duration / 1_us;
}

TEST(Unvectorised, ACastTakesTheMeasuredTime) {
  EXPECT_NEAR(us(cast(67108864, DataType::BF16, DataType::FP32), "a100_40gb"), 362.46 - 7, 0.05 * 355);
  EXPECT_NEAR(us(cast(536870912, DataType::FP32, DataType::FP16), "h100_80gb_pcie"), 2224.8, 0.1 * 2224.8);
}

/// 10.5 million elements of 16 bits in 35.5 us on an H200; FP32 images and their bias on an H100.
TEST(Unvectorised, ABroadcastOperandTakesTheMeasuredTime) {
  EXPECT_NEAR(us(by_offsets("prelu", 1024 * 10240, DataType::FP16, {}), "h200_141gb"), 35.5, 0.1 * 35.5);
  EXPECT_NEAR(us(by_offsets("add", 128L * 64 * 224 * 224, DataType::FP32, {}), "h100_80gb"), 1394,
              0.1 * 1394);
}

TEST(Unvectorised, In16BitsAnH100TakesTwiceAsLongAsForTheBytes) {
  const double broadcast = us(by_offsets("add", 1 << 28, DataType::FP16, {}), "h100_80gb");
  EXPECT_GT(broadcast, 2 * us(elementwise("add", 1 << 28, DataType::FP16, {}), "h100_80gb"));
}

/// 10 million elements of 4 bytes in 95.4 us on an A100, by as many indices of 4 bytes (here half as many of
/// 8); 134 million of 16 bits added by index in 1.16 ms on an
/// H100, to which FP32 does not come near.
TEST(Unvectorised, ElementsByIndexTakeTheMeasuredTime) {
  EXPECT_NEAR(us(index_select(10'000'000, 5'000'000, DataType::FP32), "a100_40gb"), 95.4, 0.05 * 95.4);
  const double narrow = us(index_add(65536L * 2048, DataType::BF16), "h100_80gb");
  EXPECT_NEAR(narrow, 1161, 0.05 * 1161);
  EXPECT_LT(us(index_add(65536L * 2048, DataType::FP32), "h100_80gb"), narrow);
}

/// Kernels of training steps on an H100 (calibration/measurements/h100/variant_kernels.csv): scores in BF16
/// plus a mask in FP32 (hf_opt_1b3), halves of heads (hf_llama), keys that a product reads transposed.
TEST(Unvectorised, MixedMasksStridedPiecesAndTransposedKeysTakeTheMeasuredTime) {
  const std::int64_t scores = 4 * 32 * 1024 * 1024, keys = 4 * 1024 * 2048;
  EXPECT_NEAR(us(broadcast_of_two_types("add", scores, DataType::BF16, DataType::FP32), "h100_80gb"), 717.5,
              0.05 * 717.5);
  EXPECT_NEAR(
      us(broadcast_of_two_types("add", 16 * 12 * 512 * 512, DataType::BF16, DataType::FP32), "h200_141gb"),
      228, 0.12 * 228);
  EXPECT_NEAR(us(of_two_types("add", 4096 * 4096, DataType::FP32, {.reads = 1.5}), "h100_80gb"), 77.2,
              0.05 * 77.2);
  EXPECT_NEAR(us(of_two_types("add", 16 * 512 * 768, DataType::FP32, {.reads = 1.5}), "h200_141gb"), 24.4,
              0.1 * 24.4);
  EXPECT_NEAR(us(concat_strided(8192 * 2048, 2, DataType::BF16), "h100_80gb"), 73.3, 0.05 * 73.3);
  EXPECT_NEAR(us(concat_strided(8192 * 512, 2, DataType::BF16), "h100_80gb"), 18.7, 0.1 * 18.7);
  EXPECT_NEAR(us(transposed_copy(keys, 1024, DataType::BF16), "h100_80gb"), 60.3, 0.1 * 60.3);
  EXPECT_NEAR(us(transposed_copy(16 * 512 * 768, 512, DataType::FP32), "h100_80gb"), 50.9, 0.2 * 50.9);
}

}  // namespace
}  // namespace lockstep::kernels
