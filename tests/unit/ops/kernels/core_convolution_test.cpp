#include "ops/kernels/core_convolution.hpp"

#include <gtest/gtest.h>

#include "base/yaml_reader.hpp"
#include "ops/kernel_model.hpp"

namespace lockstep {
namespace {

using namespace lockstep::literals;
using Pass = Convolution::Pass;

GpuSpec h100() {
  return read_file<GpuSpec>(LOCKSTEP_SOURCE_DIR "/configs/gpus/h100_80gb_cublas_13_boost.yaml");
}

/// A convolution of 64 square images and filters, padded so that stride 1 keeps the size.
Convolution convolution(std::int64_t in, std::int64_t out, std::int64_t size, std::int64_t filter, Pass pass,
                        std::int64_t stride = 1) {
  return {.batch = 64,
          .in_channels = in,
          .out_channels = out,
          .height = size,
          .width = size,
          .filter_height = filter,
          .filter_width = filter,
          .stride = stride,
          .padding_height = (filter - 1) / 2,
          .padding_width = (filter - 1) / 2,
          .pass = pass,
          .channels_first = true};
}

double micros(const Convolution& of) {
  const KernelCall call{"conv2d", DataType::FP32, of};
  return model_for(call).predict(call, h100()).duration / 1_us;
}

/// ResNet-50's by cuDNN 9.19 on an H100, one of each algorithm.
TEST(CoreConvolution, TakesAboutWhatItTook) {
  EXPECT_NEAR(micros(convolution(256, 1024, 14, 1, Pass::Forward)) / 184, 1, 0.12);         // implicit
  EXPECT_NEAR(micros(convolution(128, 128, 28, 3, Pass::Forward)) / 208, 1, 0.12);          // spectral
  EXPECT_NEAR(micros(convolution(256, 128, 56, 1, Pass::DataGradient)) / 654, 1, 0.12);     // implicit
  EXPECT_NEAR(micros(convolution(256, 256, 14, 3, Pass::DataGradient)) / 505, 1, 0.12);     // scattered
  EXPECT_NEAR(micros(convolution(256, 1024, 14, 1, Pass::WeightGradient)) / 465, 1, 0.12);  // implicit
  EXPECT_NEAR(micros(convolution(128, 512, 28, 1, Pass::WeightGradient)) / 562, 1, 0.12);   // summed
  EXPECT_NEAR(micros(convolution(512, 512, 7, 3, Pass::WeightGradient)) / 166, 1, 0.25);    // Winograd
}

/// Outputs are scattered over the input: as many as without a stride, each to another place.
TEST(CoreConvolution, StridedGradientMultipliesNothingInVain) {
  const double strided = micros(convolution(512, 1024, 28, 1, Pass::DataGradient, 2));
  const double dense = micros(convolution(512, 1024, 14, 1, Pass::DataGradient));
  const double scaled = 2 * 4 * 64 * 512.0 * (28 * 28 - 14 * 14) / (3352e3 * 0.926);  // us: input's gradient
  EXPECT_NEAR(strided - dense, scaled, 5);
}

/// Only where kernels were seen: an A100's convolutions are as they were.
TEST(CoreConvolution, IsOfProfilesThatHaveIt) {
  GpuSpec gpu = h100();
  const KernelCall call{"conv2d", DataType::FP32, convolution(256, 256, 14, 3, Pass::DataGradient)};
  const Seconds seen = model_for(call).predict(call, gpu).duration;
  gpu.efficiency.value.core_convolution.reset();
  EXPECT_LT(model_for(call).predict(call, gpu).duration, 0.6 * seen);  // Winograd
}

TEST(CoreConvolution, FractionsAreAtMostOne) {
  CoreConvolutionProfile profile = *h100().efficiency->core_convolution;
  profile.check();
  profile.summed = 1.2;
  EXPECT_THROW(profile.check(), FieldError);
}

}  // namespace
}  // namespace lockstep
