// Convolutions on tensor cores against their closed forms on an A100 whose constants are set by hand, and
// against kernels of the traces and measurements behind the shipped constants.

#include "ops/kernels/tensor_convolution.hpp"

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
  gpu.efficiency.value.tf32_convolution = TensorConvolutionProfile{
      .implicit = plain_tiles(128, 128), .weight_gradient = 1, .direct = plain_tiles(64, 256)};
  return gpu;
}

double milliseconds(const Convolution& of, const GpuSpec& gpu, DataType type = DataType::TF32) {
  return ConvolutionModel{}.predict({"conv", type, of}, gpu).duration / Seconds{1e-3};
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
TEST(TensorConvolution, filters_of_one_pixel_are_products_of_each_image) {
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

// 16 images of 64 channels and 32 x 32 pixels are 1,024 tiles, 64 filters of 64 channels are 128; back into
// NCHW a tile takes 1.26 times as long.
TEST(TensorConvolution, tensors_and_filters_are_copied_by_tiles_into_channels_last) {
  GpuSpec gpu = plain_gpu();
  TensorConvolutionProfile& profile = *gpu.efficiency.value.tf32_convolution;
  profile.copied_tile = Seconds{1e-6};
  const double least = gpu.kernel_minimum / Seconds{1e-3};
  const auto copies = [&](Convolution of) {
    const double all = milliseconds(of, gpu);
    of.channels_first = false;
    return all - milliseconds(of, gpu);
  };
  const Convolution of = square(16, 64, 64, 32, 3);
  EXPECT_NEAR(copies(of), 3 * least + 1.024 + 1.26 * 1.024 + 0.128, 1e-9);
  EXPECT_NEAR(copies(square(16, 64, 64, 32, 3, 1, Pass::DataGradient)),
              3 * least + 1.26 * 1.024 + 1.024 + 0.128, 1e-9);
  EXPECT_NEAR(copies(square(16, 64, 64, 32, 3, 1, Pass::WeightGradient)), 3 * least + 2 * 1.024 + 0.128,
              1e-9);
  profile.writes_images = true;
  EXPECT_NEAR(copies(of), 2 * least + 1.024 + 0.128, 1e-9);
}

// 4 MiB in, 4 MiB out, each read and written; filters of one pixel lie in channels last as they are, and 31
// pixels a side are no product of images.
TEST(TensorConvolution, copies_move_at_least_their_bytes) {
  GpuSpec gpu = plain_gpu();
  gpu.efficiency.value.tf32_convolution->copied_tile = Seconds{1e-12};
  const double rate = gpu.memory_bandwidth.in_base_units() * gpu.efficiency->memory;
  Convolution of = square(16, 64, 64, 31, 1);
  const double all = milliseconds(of, gpu);
  of.channels_first = false;
  EXPECT_NEAR(all - milliseconds(of, gpu),
              (2 * gpu.kernel_minimum.in_base_units() + 4 * (4.0 * 16 * 64 * 961) / rate) * 1e3, 1e-9);
}

// 576 x 64 results are 4.5 tiles of 128 x 128, half of each used: 5, over 65,536 pixels and all SMs.
TEST(TensorConvolution, the_gradient_of_filters_shares_its_depth_among_all_sms) {
  GpuSpec gpu = plain_gpu();
  gpu.efficiency.value.tf32_convolution->weight_gradient = 0.5;
  Convolution of = square(64, 64, 64, 32, 3, 1, Pass::WeightGradient);
  of.channels_first = false;
  EXPECT_NEAR(milliseconds(of, gpu), 2.0 * 5 * 128 * 128 * 65536 / gpu.peak.tf32.in_base_units() / 0.5 * 1e3,
              1e-9);
}

// The same as a product that splits k in two, of 128 x 128: 5 x 2 blocks of 32,768.
TEST(TensorConvolution, the_gradient_of_filters_may_be_a_product_that_splits_k) {
  GpuSpec gpu = plain_gpu();
  TensorConvolutionProfile& profile = *gpu.efficiency.value.tf32_convolution;
  profile.weight_gradient = 0;
  profile.weight_products = plain_tiles(128, 128);
  profile.weight_products->largest_split = 2;
  Convolution of = square(64, 64, 64, 32, 3, 1, Pass::WeightGradient);
  of.channels_first = false;
  EXPECT_NEAR(milliseconds(of, gpu), 2.0 * 128 * 128 * 32768 / of_one_sm(gpu) * 1e3, 1e-9);
}

// A GPU without direct kernels takes one GEMM of 108 x 49 pixels in channels last, whatever the image.
TEST(TensorConvolution, filters_of_one_pixel_may_be_products_of_their_type) {
  GpuSpec gpu = plain_gpu();
  gpu.efficiency.value.tf32_convolution->direct.reset();
  Convolution of = square(108, 64, 128, 7, 1);
  of.channels_first = false;
  const Gemm product{.m = 5292, .n = 128, .k = 64};
  EXPECT_EQ(milliseconds(of, gpu), time_of_product(product, gpu.efficiency->tensor, gpu, DataType::TF32,
                                                   Bytes{4.0 * (108 * 192 * 49 + 128 * 64)}) /
                                       Seconds{1e-3});
  // 49 floats are no whole number of vectors: 42 tiles of 128 x 128 between copies of both tensors.
  of.channels_first = true;
  const double streams = gpu.memory_bandwidth.in_base_units() * gpu.efficiency->memory;
  const double copies = 2 * gpu.kernel_minimum.in_base_units() + 2 * 4.0 * (108 * 192 * 49) / streams;
  EXPECT_NEAR(milliseconds(of, gpu), (2.0 * 128 * 128 * 64 / of_one_sm(gpu) + copies) * 1e3, 1e-9);
}

// 256 channels of 56 x 56 pixels: a quarter of the pixels meets a filter of one, all of them one of three.
TEST(TensorConvolution, strides_leave_out_pixels_of_channels_last) {
  GpuSpec gpu = plain_gpu();
  GemmProfile& implicit = *gpu.efficiency.value.tf32_convolution->implicit;
  implicit.memory = 1e-3;
  Convolution of = square(16, 256, 256, 56, 1, 2);
  of.channels_first = false;
  const double rate = gpu.memory_bandwidth.in_base_units() * 1e-3;
  EXPECT_NEAR(milliseconds(of, gpu), 4.0 * (2 * 16 * 256 * 28 * 28 + 256 * 256) / rate * 1e3, 1e-6);
  of.pass = Pass::DataGradient;  // zeros are written
  EXPECT_NEAR(milliseconds(of, gpu), 4.0 * (5 * 16 * 256 * 28 * 28 + 256 * 256) / rate * 1e3, 1e-6);
}

// 108 x 128 rows on each SM; the gradient of a strided input meets 9 / 4 of the filter's positions, or all
// nine.
TEST(TensorConvolution, the_gradient_of_a_strided_input_may_multiply_what_meets_nothing) {
  GpuSpec gpu = plain_gpu();
  Convolution of = square(108, 128, 128, 128, 3, 2, Pass::DataGradient);
  of.channels_first = false;
  const double one_position = 128 * 2.0 * 128 * 128 * 128 / of_one_sm(gpu) * 1e3;
  EXPECT_NEAR(milliseconds(of, gpu), one_position * 9 / 4, 1e-9);
  gpu.efficiency.value.tf32_convolution->strided_data_gradient = 0.5;
  EXPECT_NEAR(milliseconds(of, gpu), one_position * 9 / 4 / 0.5, 1e-9);
  gpu.efficiency.value.tf32_convolution->skips_strides = false;
  EXPECT_NEAR(milliseconds(of, gpu), one_position * 9 / 0.5, 1e-9);
}

// Three channels, 7 x 7: 147 deep and 12 of prologue, 64 x 112 x 112 outputs.
TEST(TensorConvolution, the_first_layer_runs_on_the_cores_of_fp32) {
  GpuSpec gpu = plain_gpu();
  TensorConvolutionProfile& profile = *gpu.efficiency.value.tf32_convolution;
  profile.odd_channels = 0.5;
  const double time = 2.0 * 32 * 64 * 112 * 112 * 159 / gpu.peak.fp32.in_base_units() / 0.5 * 1e3;
  EXPECT_NEAR(milliseconds(square(32, 3, 64, 224, 7, 2), gpu), time, 1e-9);
  const Convolution filters = square(32, 3, 64, 224, 7, 2, Pass::WeightGradient);
  EXPECT_LT(milliseconds(filters, gpu), time);  // on tensor cores
  profile.odd_weight_gradient = 0.5;
  EXPECT_NEAR(milliseconds(filters, gpu), time, 1e-9);
}

// Three channels of four bytes are padded to four: 32 x 224 x 224 pixels of 16 bytes are filled, and in
// channels last written by a copy that reads 12 bytes of each.
TEST(TensorConvolution, the_first_layer_may_be_padded_for_tensor_cores) {
  GpuSpec gpu = plain_gpu();
  TensorConvolutionProfile& profile = *gpu.efficiency.value.tf32_convolution;
  profile.pads_channels = true;
  profile.odd_channels = 1;
  const double product = 2.0 * 32 * 64 * 112 * 112 * 159 / gpu.peak.fp32.in_base_units() * 1e3;
  const double streams = gpu.memory_bandwidth.in_base_units() * gpu.efficiency->memory;
  const double pixels = 32.0 * 224 * 224;
  const double least = gpu.kernel_minimum / Seconds{1e-3};
  const double filled = least + 16 * pixels / (streams * gpu.efficiency->writes) * 1e3;
  Convolution of = square(32, 3, 64, 224, 7, 2);
  of.channels_first = false;
  EXPECT_NEAR(milliseconds(of, gpu),
              product + filled + least + 28 * pixels / (streams * gpu.efficiency->transposition) * 1e3, 1e-9);
  of.channels_first = true;
  profile.copied_tile = Seconds{1e-7};  // 50,176 tiles in; 12,544 x 2 back; 64 filters of two tiles
  EXPECT_NEAR(milliseconds(of, gpu), product + filled + 3 * least + (50176 + 1.26 * 25088 + 128) * 1e-4,
              1e-9);
}

// Microseconds with all copies, of ResNet-50, 32 images, on A100 and of VGG-13, 512 images, on H100
// (tools/derive/tf32_convolutions.py names the traces); the last three of ResNet-50, 128 images, on H100 are
// of github.com/sarchlab/triosim (docs/validation/resnet50_kernels_h100.md).
TEST(TensorConvolution, are_what_traces_have) {
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

// In BF16 by cuDNN 9.19, 64 images (calibration/measurements/h100/pytorch_images.csv).
TEST(TensorConvolution, are_what_an_h100_was_measured_at_in_16_bits) {
  const std::vector<std::tuple<Convolution, double>> measured{
      {square(64, 3, 64, 224, 7, 2), 649},
      {square(64, 64, 64, 56, 3), 96},
      {square(64, 256, 256, 14, 3, 1, Pass::DataGradient), 47},
      {square(64, 256, 512, 56, 1, 2), 174},
      {square(64, 128, 128, 56, 3, 2, Pass::DataGradient), 108},
      {square(64, 128, 128, 28, 3, 1, Pass::WeightGradient), 67},
      {square(64, 256, 1024, 14, 1, 1, Pass::WeightGradient), 55}};
  for (const auto& [of, microseconds] : measured) {
    const double predicted = milliseconds(of, gpu_named("h100_80gb_cublas_13_boost"), DataType::BF16) * 1e3;
    EXPECT_NEAR(predicted, microseconds, 0.12 * microseconds) << of.in_channels << ' ' << of.height;
  }
}

TEST(TensorConvolution, are_fitted_where_the_set_says_so_and_derived_on_relatives) {
  const Convolution of = square(32, 64, 64, 56, 3);
  const auto rests_on = [&](const char* gpu) {
    return ConvolutionModel{}.predict({"conv", DataType::TF32, of}, gpu_named(gpu)).provenance;
  };
  EXPECT_EQ(rests_on("a100_40gb"), Provenance::Fitted);
  EXPECT_EQ(rests_on("h100_80gb"), Provenance::Fitted);
  EXPECT_EQ(rests_on("h100_80gb_pcie"), Provenance::Derived);
  EXPECT_EQ(rests_on("rtx_3090_24gb"), Provenance::Derived);
}

TEST(TensorConvolution, fractions_beyond_one_are_refused) {
  TensorConvolutionProfile profile;
  profile.odd_weight_gradient = 1.5;
  EXPECT_THROW(profile.check(), FieldError);
  profile.pads_channels = true;  // for tensor cores, of which there are more than FP32's
  EXPECT_NO_THROW(profile.check());
  profile = {};
  profile.data_gradient = 0;
  EXPECT_THROW(profile.check(), FieldError);
  profile = {};
  profile.weight_gradient = 1;
  EXPECT_NO_THROW(profile.check());
  profile.own_products_from = -8;
  EXPECT_THROW(profile.check(), FieldError);
}

TEST(TensorConvolution, the_gradient_of_filters_is_told_once) {
  TensorConvolutionProfile profile;
  EXPECT_NO_THROW(profile.check());
  profile.weight_gradient = 0.5;
  EXPECT_NO_THROW(profile.check());
  profile.weight_products.emplace();
  EXPECT_THROW(profile.check(), FieldError);
}

}  // namespace
}  // namespace lockstep
