#include "ops/workload/layers/max_pool.hpp"

#include <gtest/gtest.h>

#include "base/yaml_reader.hpp"
#include "ops/kernel_model.hpp"

namespace lockstep::kernels {
namespace {

using namespace lockstep::literals;

/// Two planes of 8 x 8 in windows of @p window, 2 apart: 4 x 4 outputs each.
Pool pool_of(std::int64_t window) {
  return {.planes = 2,
          .height = 8,
          .width = 8,
          .out_height = 4,
          .out_width = 4,
          .window_height = window,
          .window_width = window};
}

double micros(const KernelCall& call, const std::string& gpu) {
  const auto spec = read_file<GpuSpec>(LOCKSTEP_SOURCE_DIR "/configs/gpus/" + gpu + ".yaml");
  return model_for(call).predict(call, spec).duration / 1_us;
}

/// An output is 4 inputs, itself and an index of 8 bytes: 3 tensors of FP32.
TEST(MaxPoolKernels, MoveBothSidesOnce) {
  const auto forward = std::get<Pointwise>(max_pool_forward(pool_of(2), DataType::FP32).work);
  EXPECT_EQ(forward,
            (Pointwise{
                .elements = 32, .reads = 4, .writes = 3, .flops = 4, .instructions = 130 + 15 * 2 + 20 * 4}));
  const auto backward = std::get<Pointwise>(max_pool_backward(pool_of(2), DataType::FP32).work);
  EXPECT_EQ(backward.reads, 3);
  EXPECT_EQ(backward.writes, 4);
  EXPECT_EQ(backward.instructions, 4 * (200 + 12 + 17));
}

/// Windows of 3 x 3, 2 apart, overlap: a pixel is in 1.5 x 1.5 of them.
TEST(MaxPoolKernels, BackwardLooksThroughAllWindowsOfAPixel) {
  const auto work = std::get<Pointwise>(max_pool_backward(pool_of(3), DataType::FP32).work);
  EXPECT_EQ(work.instructions, 4 * (200 + 12 * 1.5 + 17 * 2.25));
}

/// A V100 has 80 SMs of 64 lanes, a H100 132 of 128: both issue 128 instructions a clock and SM.
TEST(MaxPoolKernels, TakeAsLongAsTheirInstructions) {
  const KernelCall call{
      "k", DataType::FP32,
      Pointwise{.elements = 80 * 128 * 100'000, .reads = 0, .writes = 0, .instructions = 65}};
  EXPECT_NEAR(micros(call, "v100_16gb") / (65 * 1e5 / 0.65 / 1530), 1, 0.01);  // 15.7 TFLOPS are 1533 MHz
  EXPECT_NEAR(micros(call, "h100_80gb") / micros(call, "v100_16gb"), 80 * 1530.0 / (132 * 1980), 0.01);
}

/// Recorded kernels of ResNet-50 and VGG-13; 0.65 was fitted to the two backward ones.
TEST(MaxPoolKernels, TakeAboutWhatTheyTook) {
  const Pool resnet{32 * 64, 112, 112, 56, 56, 3, 3};
  EXPECT_NEAR(micros(max_pool_backward(resnet, DataType::FP32), "v100_32gb") / 637, 1, 0.05);
  EXPECT_NEAR(micros(max_pool_forward(resnet, DataType::FP32), "v100_32gb") / 236, 1, 0.1);
  const Pool vgg{512 * 64, 224, 224, 112, 112, 2, 2};
  EXPECT_NEAR(micros(max_pool_backward(vgg, DataType::FP32), "h100_80gb") / 17433, 1, 0.05);
  EXPECT_NEAR(micros(max_pool_forward(vgg, DataType::FP32), "h100_80gb") / 4927, 1, 0.1);
}

}  // namespace
}  // namespace lockstep::kernels
