#include "ops/kernels/convolution_work.hpp"

#include <algorithm>

namespace lockstep {
namespace {

using Pass = Convolution::Pass;

constexpr std::int64_t kAlignedPixels = 4;  // 14 x 14 pixels are read as a matrix, 7 x 7 are not

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
  const Bytes moved = size_of(type) * (inputs_of(of) + outputs_of(of) + filters_of(of));
  const Gemm product = product_of(of, skips_strides);
  Seconds best = time_of_product(product, profile, gpu, type, moved);
  if (of.pass == Pass::WeightGradient) {  // the library's kernels take either as rows
    const Gemm turned{.m = product.n, .n = product.m, .k = product.k, .transpose_a = true};
    best = std::min(best, time_of_product(turned, profile, gpu, type, moved));
  }
  return best;
}

bool is_batched_product(const Convolution& of) {
  return of.filter_height == 1 && of.filter_width == 1 && of.stride == 1 && of.padding_height == 0 &&
         of.padding_width == 0 && of.height * of.width % kAlignedPixels == 0;
}

Seconds batched_product_time(const Convolution& of, const GemmProfile& profile, const GpuSpec& gpu,
                             DataType type) {
  const std::int64_t pixels = of.height * of.width;
  Gemm product{.batch = of.batch, .m = of.out_channels, .n = pixels, .k = of.in_channels};
  Bytes moved = size_of(type) * (inputs_of(of) + outputs_of(of) + filters_of(of));
  if (of.pass == Pass::DataGradient) std::swap(product.m, product.k);
  if (of.pass == Pass::WeightGradient) {
    std::swap(product.n, product.k);
    moved += size_of(type) * (2.0 * static_cast<double>(of.batch) * filters_of(of));
  }
  return time_of_product(product, profile, gpu, type, moved);
}

Seconds layout_time(const Convolution& of, bool writes_first, const GpuSpec& gpu, DataType type) {
  const Bytes copied = 2 * size_of(type) * (inputs_of(of) + (writes_first ? 0 : outputs_of(of)));
  return (writes_first ? 1 : 2) * gpu.kernel_minimum +
         copied / (gpu.memory_bandwidth * gpu.efficiency->memory);
}

}  // namespace lockstep
