#include "ops/kernels/convolution_work.hpp"

#include <algorithm>

#include "ops/kernels/traffic.hpp"

namespace lockstep {
namespace {

using Pass = Convolution::Pass;

constexpr std::int64_t kAlignedPixels = 4;  // 14 x 14 pixels are read as a matrix, 7 x 7 are not

/// Pixels along a side that some position of the filter meets: every other one of filters of one pixel in
/// steps of two.
std::int64_t met(std::int64_t size, std::int64_t out, std::int64_t filter, std::int64_t stride) {
  return filter >= stride ? size : std::min(size, out * filter);
}

/// Elements of the input that a pass reads, or writes as a gradient: pixels in channels last, a whole vector
/// of channels each, are left out where nothing meets them.
double inputs_touched(const Convolution& of, bool is_channels_last) {
  if (!is_channels_last || of.pass == Pass::DataGradient) return inputs_of(of);
  return static_cast<double>(of.batch * of.in_channels) *
         static_cast<double>(met(of.height, of.out_height(), of.filter_height, of.stride) *
                             met(of.width, of.out_width(), of.filter_width, of.stride));
}

}  // namespace

double inputs_of(const Convolution& of) {
  return static_cast<double>(of.batch * of.in_channels) * static_cast<double>(of.height * of.width);
}

double outputs_of(const Convolution& of) {
  return static_cast<double>(of.batch * of.out_channels) *
         static_cast<double>(of.out_height() * of.out_width());
}

double filters_of(const Convolution& of) {
  return static_cast<double>(of.in_channels * of.out_channels) *
         static_cast<double>(of.filter_height * of.filter_width);
}

/// Rows in memory are channels; a weight gradient, whose k are the pixels, reads both factors across them.
Gemm product_of(const Convolution& of, bool skips_strides) {
  const std::int64_t filter = of.filter_height * of.filter_width;
  const std::int64_t pixels = of.batch * of.out_height() * of.out_width();
  switch (of.pass) {
    case Pass::Forward:
      return {.m = pixels, .n = of.out_channels, .k = of.in_channels * filter};
    case Pass::DataGradient: {
      const std::int64_t depth =
          of.out_channels * filter / (skips_strides || filter == 1 ? of.stride * of.stride : 1);
      return {
          .m = of.batch * of.height * of.width, .n = of.in_channels, .k = std::max<std::int64_t>(1, depth)};
    }
    case Pass::WeightGradient:
      return {.m = of.in_channels * filter, .n = of.out_channels, .k = pixels, .transpose_a = true};
  }
  return {};
}

Seconds implicit_time(const Convolution& of, GemmProfile profile, double rate, const GpuSpec& gpu,
                      DataType type, bool skips_strides) {
  for (GemmTile& tile : profile.tiles) tile.efficiency *= rate;
  const double inputs = inputs_touched(of, uses_tensor_cores(gpu, type));
  const Bytes moved = size_of(type) * (inputs + outputs_of(of) + filters_of(of));
  const Gemm product = product_of(of, skips_strides);
  Seconds best = time_of_product(product, profile, gpu, type, moved);
  if (of.pass == Pass::WeightGradient) {  // the library's kernels take either as rows
    const Gemm turned{.m = product.n, .n = product.m, .k = product.k, .transpose_a = true};
    best = std::min(best, time_of_product(turned, profile, gpu, type, moved));
  }
  return best;
}

bool is_product_of_pixels(const Convolution& of) {
  return of.filter_height == 1 && of.filter_width == 1 && of.stride == 1 && of.padding_height == 0 &&
         of.padding_width == 0;
}

bool is_batched_product(const Convolution& of) {
  return is_product_of_pixels(of) && of.height * of.width % kAlignedPixels == 0;
}

Seconds batched_product_time(const Convolution& of, const GemmProfile& profile, const GpuSpec& gpu,
                             DataType type) {
  const std::int64_t pixels = of.height * of.width;
  Gemm product{.batch = of.batch, .m = of.out_channels, .n = pixels, .k = of.in_channels};
  Bytes moved = size_of(type) * (inputs_of(of) + outputs_of(of) + filters_of(of));
  if (of.pass == Pass::DataGradient) {
    std::swap(product.m, product.k);
    product.transpose_a = true;
  }
  if (of.pass == Pass::WeightGradient) {
    std::swap(product.n, product.k);
    product.transpose_b = true;
    moved += size_of(DataType::FP32) * (2.0 * static_cast<double>(of.batch) * filters_of(of));
  }
  return time_of_product(product, profile, gpu, type, moved);
}

}  // namespace lockstep
