#include "ops/workload/layers/average_pool.hpp"

#include <gtest/gtest.h>

#include "base/yaml_reader.hpp"
#include "ops/kernel_model.hpp"

namespace lockstep::kernels {
namespace {

using namespace lockstep::literals;

double micros(const KernelCall& call, const std::string& gpu) {
  const auto spec = read_file<GpuSpec>(LOCKSTEP_SOURCE_DIR "/configs/gpus/" + gpu + ".yaml");
  return model_for(call).predict(call, spec).duration / 1_us;
}

/// Two planes of 8 x 8 in windows of 2 x 2 side by side: 4 x 4 outputs each, a window over each pixel.
TEST(AveragePoolKernels, CountAThreadAnOutputOrAPixel) {
  const Pool pool{2, 8, 8, 4, 4, 2, 2};
  EXPECT_EQ(std::get<Pointwise>(average_pool_forward(pool, DataType::FP32, true, PoolSizes::Wide).work),
            (Pointwise{.elements = 32, .reads = 4, .flops = 4, .instructions = 160 + 17 * 2 + 7.5 * 4}));
  EXPECT_EQ(std::get<Pointwise>(average_pool_forward(pool, DataType::FP32, false, PoolSizes::Narrow).work)
                .instructions,
            152 + 15 * 2 + 9 * 4);
  EXPECT_EQ(std::get<Pointwise>(average_pool_backward(pool, DataType::FP32, true, PoolSizes::Wide).work),
            (Pointwise{.elements = 128, .reads = 0.25, .flops = 2, .instructions = 246 + 28 + 37}));
}

/// The middle one of Inception v3's, 3 x 3 and a pixel apart, on 768 channels of 17 x 17: an H100's kernels,
/// to which the counts' factors were fitted, and an H200's (backward, NHWC, 64 images), to which they were
/// not.
TEST(AveragePoolKernels, TakeAboutWhatTheyTook) {
  const Pool images{64 * 768, 17, 17, 17, 17, 3, 3}, twice{128 * 768, 17, 17, 17, 17, 3, 3};
  const std::string h100 = "h100_80gb_cublas_13_boost", h200 = "h200_141gb_boost";
  EXPECT_NEAR(micros(average_pool_forward(images, DataType::BF16, true, PoolSizes::Wide), h100) / 191, 1,
              0.08);
  EXPECT_NEAR(micros(average_pool_backward(images, DataType::BF16, true, PoolSizes::Wide), h100) / 441, 1,
              0.08);
  EXPECT_NEAR(micros(average_pool_forward(twice, DataType::BF16, false, PoolSizes::Wide), h100) / 694, 1,
              0.08);
  EXPECT_NEAR(micros(average_pool_backward(twice, DataType::BF16, false, PoolSizes::Wide), h100) / 995, 1,
              0.08);
  EXPECT_NEAR(micros(average_pool_backward(images, DataType::BF16, false, PoolSizes::Wide), h200) / 498, 1,
              0.08);
}

}  // namespace
}  // namespace lockstep::kernels
