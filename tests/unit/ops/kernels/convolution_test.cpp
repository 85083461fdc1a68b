// Convolutions against their closed forms on a V100 whose constants are set by hand.

#include "ops/kernels/convolution.hpp"

#include <gmock/gmock.h>

#include <stdexcept>

#include "base/yaml_reader.hpp"
#include "ops/kernels/gemm.hpp"

namespace lockstep {
namespace {

using Pass = Convolution::Pass;

GpuSpec plain_gpu() {
  GpuSpec gpu = read_file<GpuSpec>(LOCKSTEP_SOURCE_DIR "/configs/gpus/v100_32gb.yaml");
  ConvolutionProfile& of = gpu.efficiency.value.convolution;
  of.implicit.tiles = {{.rows = 128, .columns = 128, .warps = 8, .efficiency = 1}};
  of.implicit.fixed_depth = 0;
  of.implicit.half_warps = 0;
  of.implicit.fixed = Seconds{0};
  of.implicit.largest_split = 1;
  of.guessed = {.one_by_one = 0.5, .data_gradient = 1, .weight_gradient = 1};
  of.tuned = {.one_by_one = 1, .data_gradient = 1, .weight_gradient = 1};
  return gpu;
}

/// In FP32 of tensors in NCHW.
double milliseconds(Convolution of, const GpuSpec& gpu, DataType type = DataType::FP32) {
  of.channels_first = of.channels_first || type == DataType::FP32;
  return ConvolutionModel{}.predict({"conv", type, of}, gpu).duration / Seconds{1e-3};
}

double extra_in_nchw(Convolution of, const GpuSpec& gpu, DataType type) {
  const double last = milliseconds(of, gpu, type);
  of.channels_first = true;
  return milliseconds(of, gpu, type) - last;
}

/// A filter of 3 x 3 between as many channels, on square images that keep their size.
Convolution same_size_3x3(std::int64_t batch, std::int64_t channels, std::int64_t pixels) {
  return {.batch = batch,
          .in_channels = channels,
          .out_channels = channels,
          .height = pixels,
          .width = pixels,
          .filter_height = 3,
          .filter_width = 3,
          .padding_height = 1,
          .padding_width = 1};
}

// 64 x 64 channels of 32 x 32 pixels, 16 images in FP16: 2 MiB in, 2 MiB out, each read and written.
TEST(Convolution, tensor_cores_want_channels_last) {
  const GpuSpec gpu = plain_gpu();
  const Convolution of = same_size_3x3(16, 64, 32);
  const double rate = gpu.memory_bandwidth.in_base_units() * gpu.efficiency->memory;
  EXPECT_NEAR(extra_in_nchw(of, gpu, DataType::FP16),
              2 * gpu.kernel_minimum / Seconds{1e-3} + 2 * (2 * 2097152.0) / rate * 1e3, 1e-9);
}

// In FP32, likewise of twice the bytes, the other way about.
TEST(Convolution, CudaCoresWantChannelsFirst) {
  const GpuSpec gpu = plain_gpu();
  const Convolution of = same_size_3x3(16, 64, 32);
  const auto last = ConvolutionModel{}.predict({"conv", DataType::FP32, of}, gpu).duration;
  const double rate = gpu.memory_bandwidth.in_base_units() * gpu.efficiency->memory;
  EXPECT_NEAR(last / Seconds{1e-3} - milliseconds(of, gpu),
              2 * gpu.kernel_minimum / Seconds{1e-3} + 2 * (2 * 4194304.0) / rate * 1e3, 1e-9);
}

// The case above in TF32 has twice the bytes. Kernels forward write NCHW themselves, so that 4 MiB are
// copied, backward 8.
TEST(Convolution, tf32_forward_writes_nchw_itself) {
  const auto gpu = read_file<GpuSpec>(LOCKSTEP_SOURCE_DIR "/configs/gpus/rtx_3090_24gb.yaml");
  Convolution of = same_size_3x3(16, 64, 32);
  const double rate = gpu.memory_bandwidth.in_base_units() * gpu.efficiency->memory;
  const double least = gpu.kernel_minimum / Seconds{1e-3};
  EXPECT_NEAR(extra_in_nchw(of, gpu, DataType::TF32), least + 2 * 4194304.0 / rate * 1e3, 1e-9);
  of.pass = Pass::DataGradient;
  EXPECT_NEAR(extra_in_nchw(of, gpu, DataType::TF32), 2 * least + 2 * (2 * 4194304.0) / rate * 1e3, 1e-9);
}

// 16 images of 128 x 128 pixels and 512 channels: each a matrix of its own in NCHW, with as many tiles of
// pixels as all of them gathered. Rows of 49 pixels are aligned to nothing, stride 2 leaves pixels out: those
// are copied.
TEST(Convolution, filters_of_one_pixel_read_nchw_as_it_lies) {
  const GpuSpec gpu = plain_gpu();
  Convolution of{.batch = 16, .in_channels = 512, .out_channels = 128, .height = 128, .width = 128};
  EXPECT_NEAR(extra_in_nchw(of, gpu, DataType::FP16), 0, 1e-9);
  of.stride = 2;
  EXPECT_GT(extra_in_nchw(of, gpu, DataType::FP16), 0.1);
  of.stride = 1;
  of.height = of.width = 7;
  EXPECT_GT(extra_in_nchw(of, gpu, DataType::FP16), 2 * gpu.kernel_minimum / Seconds{1e-3});
}

// An image of 14 x 14 pixels fills one and a half tiles of 128; its filters' gradients are written and read
// again.
TEST(Convolution, each_image_is_a_product_of_its_own) {
  const GpuSpec gpu = plain_gpu();
  Convolution of{.batch = 64, .in_channels = 256, .out_channels = 256, .height = 14, .width = 14};
  EXPECT_GT(extra_in_nchw(of, gpu, DataType::FP16), 0);
  of.pass = Pass::WeightGradient;
  EXPECT_GT(extra_in_nchw(of, gpu, DataType::FP16), 0);
}

// 80 images of 32 x 32 pixels are 81,920 rows: 640 tiles of 128, 8 on each of 80 SMs; 5 x 5 x 64 deep, 128
// columns: 8 * 2 * 128 * 128 * 1600 FLOP at the peak of one SM.
TEST(Convolution, a_forward_pass_is_a_product_of_gathered_pixels) {
  const GpuSpec gpu = plain_gpu();
  Convolution of{.batch = 80,
                 .in_channels = 64,
                 .out_channels = 128,
                 .height = 32,
                 .width = 32,
                 .filter_height = 5,
                 .filter_width = 5,
                 .padding_height = 2,
                 .padding_width = 2};
  const double sm = gpu.peak.fp32.in_base_units() / 80;
  EXPECT_NEAR(milliseconds(of, gpu), 8 * 2.0 * 128 * 128 * 1600 / sm * 1e3, 1e-9);
  of.pass = Pass::WeightGradient;  // 1600 x 128 results: 13 tiles on 80 SMs, 81,920 deep, not split
  EXPECT_NEAR(milliseconds(of, gpu), 2.0 * 128 * 128 * 81920 / sm * 1e3, 1e-9);
  of.pass = Pass::DataGradient;  // as many rows, 64 columns in a tile of 128, 25 * 128 deep
  EXPECT_NEAR(milliseconds(of, gpu), 8 * 2.0 * 128 * 128 * 3200 / sm * 1e3, 1e-9);
}

// Filters of 1 x 1 at half the rate: 8 * 2 * 128 * 128 * 256 FLOP take twice their time.
TEST(Convolution, filters_of_one_pixel_have_their_own_rate) {
  const GpuSpec gpu = plain_gpu();
  const Convolution of{.batch = 80, .in_channels = 256, .out_channels = 128, .height = 32, .width = 32};
  const double sm = gpu.peak.fp32.in_base_units() / 80;
  EXPECT_NEAR(milliseconds(of, gpu), 2 * 8 * 2.0 * 128 * 128 * 256 / sm * 1e3, 1e-9);
}

// Guessed: a half, a quarter and an eighth of the rate; timed: all of it, but not for the input's gradient of
// a convolution with a stride.
TEST(Convolution, timed_algorithms_have_rates_of_their_own) {
  GpuSpec gpu = plain_gpu();
  ConvolutionProfile& profile = gpu.efficiency.value.convolution;
  profile.guessed = {.one_by_one = 0.5, .data_gradient = 0.25, .weight_gradient = 0.125};
  const auto gain = [&](Pass pass, std::int64_t stride) {
    Convolution of{.batch = 80, .in_channels = 256, .out_channels = 128, .height = 32, .width = 32};
    of.stride = stride;
    of.pass = pass;
    const double guessed = milliseconds(of, gpu);
    of.tuned = true;
    return guessed / milliseconds(of, gpu);
  };
  EXPECT_NEAR(gain(Pass::Forward, 1), 2, 1e-9);
  EXPECT_NEAR(gain(Pass::DataGradient, 1), 4, 1e-9);
  EXPECT_NEAR(gain(Pass::DataGradient, 2), 1, 1e-9);
  EXPECT_NEAR(gain(Pass::WeightGradient, 1), 8, 1e-9);
}

/// 32 x 32 pixels, 64 to 128 channels, padded.
Convolution three_by_three(std::int64_t images) {
  return {.batch = images,
          .in_channels = 64,
          .out_channels = 128,
          .height = 32,
          .width = 32,
          .filter_height = 3,
          .filter_width = 3,
          .padding_height = 1,
          .padding_width = 1};
}

// The fused kernel of 3 x 3 filters (`winograd` 1) takes 16 products for 4 outputs of 9: 4/9 of the time. 80
// images of 32 x 32 are 80 * 4 * 2 regions of 4 x 8 tiles, 4 groups of 32 channels: 2560 blocks, 32 on an
// SM.
TEST(Convolution, winograd_saves_five_ninths) {
  GpuSpec gpu = plain_gpu();
  gpu.efficiency.value.convolution.winograd = 1;
  gpu.efficiency.value.convolution.transforms = 0.01;  // so that the other one is slow
  Convolution of = three_by_three(80);
  const double sm = gpu.peak.fp32.in_base_units() / 80;
  const double direct = 8 * 2.0 * 128 * 128 * 576 / sm * 1e3;
  EXPECT_NEAR(milliseconds(of, gpu), direct * 4 / 9, 1e-9);
  of.stride = 2;  // no Winograd: a quarter of the rows
  EXPECT_NEAR(milliseconds(of, gpu), direct / 4, 1e-9);
}

// The 36 products of the unfused kernels are of whole groups of 16 images: 65 take as long as 80, 81 longer.
TEST(Convolution, unfused_winograd_computes_whole_groups_of_images) {
  GpuSpec gpu = plain_gpu();
  gpu.efficiency.value.convolution.winograd = 0.01;  // so that the other two are slow
  gpu.efficiency.value.convolution.implicit.tiles[0].efficiency = 0.01;
  gpu.efficiency.value.convolution.transforms = 1e9;  // and what is moved takes no time
  gpu.efficiency.value.fp32_batched.tiles = {{.rows = 16, .columns = 128, .warps = 8, .efficiency = 1}};
  const auto of = [&](std::int64_t images) { return milliseconds(three_by_three(images), gpu); };
  EXPECT_NEAR(of(65), of(80), 1e-9);
  EXPECT_NEAR(of(96) / of(80), 1.2, 0.01);
  EXPECT_NEAR(of(81), of(96), 1e-9);
}

// A gradient of the input with stride 2: every input pixel meets a quarter of the 4 x 4 filter's positions.
TEST(Convolution, a_strided_gradient_skips_what_is_zero) {
  const GpuSpec gpu = plain_gpu();
  Convolution of{.batch = 80,
                 .in_channels = 128,
                 .out_channels = 128,
                 .height = 32,
                 .width = 32,
                 .filter_height = 4,
                 .filter_width = 4,
                 .stride = 2,
                 .padding_height = 1,
                 .padding_width = 1,
                 .pass = Pass::DataGradient};
  const double sm = gpu.peak.fp32.in_base_units() / 80;
  EXPECT_NEAR(milliseconds(of, gpu), 8 * 2.0 * 128 * 128 * 4 * 128 / sm * 1e3, 1e-9);
}

// No TF32 kernels of this GPU's own are known (tf32_convolution).
TEST(Convolution, of_three_channels_in_tf32_goes_forward_on_the_cores_of_fp32) {
  const auto gpu = read_file<GpuSpec>(LOCKSTEP_SOURCE_DIR "/configs/gpus/rtx_3090_24gb.yaml");
  Convolution of = same_size_3x3(32, 64, 224);
  of.in_channels = 3;
  of.channels_first = true;
  EXPECT_DOUBLE_EQ(milliseconds(of, gpu, DataType::TF32), milliseconds(of, gpu));
  of.in_channels = 4;
  EXPECT_NE(milliseconds(of, gpu, DataType::TF32), milliseconds(of, gpu));
}

TEST(Convolution, tensor_cores_multiply_and_are_derived) {
  const GpuSpec gpu = read_file<GpuSpec>(LOCKSTEP_SOURCE_DIR "/configs/gpus/a100_40gb.yaml");
  const Convolution of = same_size_3x3(32, 256, 28);
  EXPECT_LT(milliseconds(of, gpu, DataType::TF32), milliseconds(of, gpu));
  EXPECT_EQ(ConvolutionModel{}.predict({"conv", DataType::FP16, of}, gpu).provenance, Provenance::Derived);
  EXPECT_EQ(ConvolutionModel{}.predict({"conv", DataType::FP32, of}, gpu).provenance, Provenance::Fitted);
}

TEST(Convolution, sizes_that_cannot_be_are_refused) {
  const GpuSpec gpu = plain_gpu();
  EXPECT_THROW(
      (void)milliseconds({.batch = 1, .in_channels = 0, .out_channels = 1, .height = 8, .width = 8}, gpu),
      std::invalid_argument);
  EXPECT_THROW(
      (void)milliseconds(
          {.batch = 1, .in_channels = 1, .out_channels = 1, .height = 2, .width = 8, .filter_height = 3},
          gpu),
      std::invalid_argument);
}

// 64 channels on 80 SMs: four fifths of the bandwidth that 80 channels get for as many bytes.
TEST(BatchNorm, a_channel_is_one_block) {
  const GpuSpec gpu = plain_gpu();
  const auto time = [&](std::int64_t channels, Direction direction) {
    const KernelCall call{
        "bn", DataType::FP32,
        BatchNorm{
            .batch = 320, .channels = channels, .pixels = 1'024'000 / channels, .direction = direction}};
    return model_for(call).predict(call, gpu).duration - gpu.kernel_minimum;
  };
  EXPECT_NEAR(time(64, Direction::Forward) / time(80, Direction::Forward), 1.25, 1e-9);
  EXPECT_NEAR(time(160, Direction::Forward) / time(80, Direction::Forward), 1, 1e-9);
  EXPECT_NEAR(time(160, Direction::Backward) / time(160, Direction::Forward), 5.0 / 3,
              1e-9);  // 4 + 1 by 2 + 1
}

// A100, 108 SMs of 64 cores at 1.41 GHz (19.5 TFLOPS). 64 channels of 64 images with 3,136 pixels are 12.8
// million elements, 64 * 0.73 of them a clock: 195 us, in FP16 as in FP32. Channels last they are bound by
// memory.
TEST(BatchNorm, in_nchw_an_element_takes_its_time_whatever_its_size) {
  const auto gpu = read_file<GpuSpec>(LOCKSTEP_SOURCE_DIR "/configs/gpus/a100_80gb.yaml");
  const auto time = [&](BatchNorm norm, DataType type) {
    const KernelCall call{"bn", type, norm};
    return (model_for(call).predict(call, gpu).duration - gpu.kernel_minimum) / Seconds{1e-6};
  };
  BatchNorm norm{.batch = 64, .channels = 64, .pixels = 3136};
  const double clock = gpu.peak.fp32.in_base_units() / (2.0 * 108 * 64);
  EXPECT_NEAR(time(norm, DataType::FP16), 64.0 * 64 * 3136 / (64 * 0.73 * clock) * 1e6, 1e-6);
  norm.channels = 512;  // every SM is full: 108 * 0.91 elements a clock
  EXPECT_NEAR(time(norm, DataType::FP16), 64.0 * 512 * 3136 / (108 * 0.91 * clock) * 1e6, 1e-6);
  norm.direction = Direction::Backward;
  EXPECT_NEAR(time(norm, DataType::FP16), 64.0 * 512 * 3136 / (108 * 0.53 * clock) * 1e6, 1e-6);
  const double first = time(norm, DataType::FP16);
  norm.channels_last = true;
  EXPECT_LT(time(norm, DataType::FP16), 0.8 * first);
}

TEST(BatchNorm, OfOneImageInNchwIsLikeHalfOfTwo) {
  const auto gpu = read_file<GpuSpec>(LOCKSTEP_SOURCE_DIR "/configs/gpus/a100_80gb.yaml");
  const auto time = [&](std::int64_t batch) {
    const KernelCall call{"bn", DataType::FP32, BatchNorm{.batch = batch, .channels = 64, .pixels = 12544}};
    return model_for(call).predict(call, gpu).duration - gpu.kernel_minimum;
  };
  EXPECT_NEAR(time(2) / time(1), 2, 1e-9);
}

}  // namespace
}  // namespace lockstep
