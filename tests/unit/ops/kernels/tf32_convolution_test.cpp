// TF32 convolutions against their closed forms on an A100 whose constants are set by hand, and against
// kernels of the traces behind the shipped constants.

#include "ops/kernels/tf32_convolution.hpp"

#include <gmock/gmock.h>

#include <tuple>

#include "base/yaml_reader.hpp"
#include "ops/kernels/convolution.hpp"
#include "ops/kernels/gemm.hpp"

namespace lockstep {
namespace {

using Pass = Convolution::Pass;

GpuSpec gpu_named(const std::string& name) {
  return read_file<GpuSpec>(LOCKSTEP_SOURCE_DIR "/configs/gpus/" + name + ".yaml");
}

GemmProfile plain_tiles(int rows, int columns) {
  GemmProfile profile;
  profile.tiles = {{.rows = rows, .columns = columns, .warps = 8, .efficiency = 1}};
  profile.fixed_depth = profile.half_warps = 0;
  profile.memory = 1e9;  // what is moved takes no time
  profile.fixed = Seconds{0};
  return profile;
}

GpuSpec plain_gpu() {
  GpuSpec gpu = gpu_named("a100_40gb");
  gpu.efficiency.value.tf32_convolution =
      Tf32ConvolutionProfile{.implicit = plain_tiles(128, 128), .direct = plain_tiles(64, 256)};
  return gpu;
}

double milliseconds(const Convolution& of, const GpuSpec& gpu) {
  return ConvolutionModel{}.predict({"conv", DataType::TF32, of}, gpu).duration / Seconds{1e-3};
}

double of_one_sm(const GpuSpec& gpu) {
  return gpu.peak.tf32.in_base_units() / gpu.sm_count;
}

Convolution square(std::int64_t batch, std::int64_t in, std::int64_t out, std::int64_t pixels,
                   std::int64_t filter, std::int64_t stride = 1, Pass pass = Pass::Forward) {
  return {.batch = batch,
          .in_channels = in,
          .out_channels = out,
          .height = pixels,
          .width = pixels,
          .filter_height = filter,
          .filter_width = filter,
          .stride = stride,
          .padding_height = filter / 2,
          .padding_width = filter / 2,
          .pass = pass,
          .channels_first = true};
}

// 108 images of 14 x 14 pixels, each one tile of 256 columns, and 128 outputs, two of 64 rows: two blocks on
// each SM, 64 deep.
TEST(Tf32Convolution, filters_of_one_pixel_are_products_of_each_image) {
  GpuSpec gpu = plain_gpu();
  const Convolution of = square(108, 64, 128, 14, 1);
  EXPECT_NEAR(milliseconds(of, gpu), 2 * 2.0 * 64 * 256 * 64 / of_one_sm(gpu) * 1e3, 1e-9);
  const Convolution aligned = square(108, 64, 128, 28, 1);  // 784 pixels are a multiple of eight, 196 are not
  EXPECT_NEAR(milliseconds(aligned, gpu), 4 * 2 * 2.0 * 64 * 256 * 64 / of_one_sm(gpu) * 1e3, 1e-9);
  gpu.efficiency.value.tf32_convolution->own_products_from = 8;
  const Gemm product{.batch = 108, .m = 128, .n = 784, .k = 64};
  EXPECT_EQ(milliseconds(aligned, gpu), time_of_product(product, gpu.efficiency->tensor, gpu, DataType::TF32,
                                                        Bytes{4.0 * (108 * 192 * 784 + 128 * 64)}) /
                                            Seconds{1e-3});
  EXPECT_NEAR(milliseconds(of, gpu), 2 * 2.0 * 64 * 256 * 64 / of_one_sm(gpu) * 1e3, 1e-9);
}

// 64 x 64 channels of 32 x 32 pixels, 16 images: 4 MiB in, 4 MiB out, each read and written by a copy; 64
// filters of 64 channels are 128 blocks.
TEST(Tf32Convolution, tensors_and_filters_are_copied_into_channels_last) {
  GpuSpec gpu = plain_gpu();
  Tf32ConvolutionProfile& profile = *gpu.efficiency.value.tf32_convolution;
  profile.copied_filter = Seconds{1e-6};
  const double rate = gpu.memory_bandwidth.in_base_units() * gpu.efficiency->memory;
  const double least = gpu.kernel_minimum / Seconds{1e-3};
  const auto copies = [&](Convolution of) {
    const double all = milliseconds(of, gpu);
    of.channels_first = false;
    return all - milliseconds(of, gpu);
  };
  const Convolution of = square(16, 64, 64, 32, 3);
  EXPECT_NEAR(copies(of), 3 * least + 2 * (2 * 4194304.0) / rate * 1e3 + 0.128, 1e-9);
  profile.writes_images = true;
  EXPECT_NEAR(copies(of), 2 * least + 2 * 4194304.0 / rate * 1e3 + 0.128, 1e-9);
  EXPECT_NEAR(copies(square(16, 64, 64, 32, 3, 1, Pass::DataGradient)),
              3 * least + 2 * (2 * 4194304.0) / rate * 1e3 + 0.128, 1e-9);
}

// 576 x 64 results are 4.5 tiles of 128 x 128, half of each used: 5, over 65,536 pixels and all SMs.
TEST(Tf32Convolution, the_gradient_of_filters_shares_its_depth_among_all_sms) {
  GpuSpec gpu = plain_gpu();
  gpu.efficiency.value.tf32_convolution->weight_gradient = 0.5;
  Convolution of = square(64, 64, 64, 32, 3, 1, Pass::WeightGradient);
  of.channels_first = false;
  EXPECT_NEAR(milliseconds(of, gpu), 2.0 * 5 * 128 * 128 * 65536 / gpu.peak.tf32.in_base_units() / 0.5 * 1e3,
              1e-9);
}

// 108 x 128 rows on each SM; the gradient of a strided input meets 9 / 4 of the filter's positions, or all
// nine.
TEST(Tf32Convolution, the_gradient_of_a_strided_input_may_multiply_what_meets_nothing) {
  GpuSpec gpu = plain_gpu();
  Convolution of = square(108, 128, 128, 128, 3, 2, Pass::DataGradient);
  of.channels_first = false;
  const double one_position = 128 * 2.0 * 128 * 128 * 128 / of_one_sm(gpu) * 1e3;
  EXPECT_NEAR(milliseconds(of, gpu), one_position * 9 / 4, 1e-9);
  gpu.efficiency.value.tf32_convolution->skips_strides = false;
  EXPECT_NEAR(milliseconds(of, gpu), one_position * 9, 1e-9);
}

// Three channels, 7 x 7: 147 deep and 12 of prologue, 64 x 112 x 112 outputs.
TEST(Tf32Convolution, the_first_layer_runs_on_the_cores_of_fp32) {
  GpuSpec gpu = plain_gpu();
  Tf32ConvolutionProfile& profile = *gpu.efficiency.value.tf32_convolution;
  profile.odd_channels = 0.5;
  const double time = 2.0 * 32 * 64 * 112 * 112 * 159 / gpu.peak.fp32.in_base_units() / 0.5 * 1e3;
  EXPECT_NEAR(milliseconds(square(32, 3, 64, 224, 7, 2), gpu), time, 1e-9);
  const Convolution filters = square(32, 3, 64, 224, 7, 2, Pass::WeightGradient);
  EXPECT_LT(milliseconds(filters, gpu), time);  // on tensor cores
  profile.odd_weight_gradient = 0.5;
  EXPECT_NEAR(milliseconds(filters, gpu), time, 1e-9);
}

// Microseconds with all copies, of ResNet-50, 32 images, on A100 and of VGG-13, 512 images, on H100
// (tools/derive/tf32_convolutions.py names the traces); the last three of ResNet-50, 128 images, on H100 are
// of github.com/sarchlab/triosim (docs/validation/resnet50_kernels_h100.md).
TEST(Tf32Convolution, are_what_traces_have) {
  const std::vector<std::tuple<const char*, Convolution, double>> measured{
      {"a100_40gb", square(32, 3, 64, 224, 7, 2), 464},
      {"a100_40gb", square(32, 64, 64, 56, 3), 136},
      {"a100_40gb", square(32, 128, 512, 28, 1), 65},
      {"a100_40gb", square(32, 256, 1024, 14, 1), 61},
      {"a100_40gb", square(32, 512, 2048, 7, 1), 111},
      {"a100_40gb", square(32, 1024, 2048, 14, 1, 2), 244},
      {"h100_80gb_boost", square(512, 128, 256, 56, 3), 4074},
      {"h100_80gb_boost", square(512, 512, 512, 14, 3), 1337},
      {"h100_80gb_boost", square(512, 512, 512, 14, 3, 1, Pass::DataGradient), 1394},
      {"h100_80gb_boost", square(512, 512, 512, 14, 3, 1, Pass::WeightGradient), 2421},
      {"h100_80gb_boost", square(128, 64, 64, 56, 3), 301},
      {"h100_80gb_boost", square(128, 128, 512, 28, 1), 99},
      {"h100_80gb_boost", square(128, 512, 512, 7, 3), 126}};
  for (const auto& [gpu, of, microseconds] : measured) {
    EXPECT_NEAR(milliseconds(of, gpu_named(gpu)) * 1e3, microseconds, 0.12 * microseconds)
        << gpu << ' ' << of.in_channels << ' ' << of.out_channels << ' ' << of.height;
  }
}

TEST(Tf32Convolution, are_fitted_where_the_set_says_so_and_derived_on_relatives) {
  const Convolution of = square(32, 64, 64, 56, 3);
  const auto rests_on = [&](const char* gpu) {
    return ConvolutionModel{}.predict({"conv", DataType::TF32, of}, gpu_named(gpu)).provenance;
  };
  EXPECT_EQ(rests_on("a100_40gb"), Provenance::Fitted);
  EXPECT_EQ(rests_on("h100_80gb"), Provenance::Fitted);
  EXPECT_EQ(rests_on("h100_80gb_pcie"), Provenance::Derived);
  EXPECT_EQ(rests_on("rtx_3090_24gb"), Provenance::Derived);
}

TEST(Tf32Convolution, fractions_beyond_one_are_refused) {
  Tf32ConvolutionProfile profile;
  profile.odd_weight_gradient = 1.5;
  EXPECT_THROW(profile.check(), FieldError);
  profile = {};
  profile.data_gradient = 0;
  EXPECT_THROW(profile.check(), FieldError);
  profile = {};
  profile.own_products_from = -8;
  EXPECT_THROW(profile.check(), FieldError);
}

}  // namespace
}  // namespace lockstep
