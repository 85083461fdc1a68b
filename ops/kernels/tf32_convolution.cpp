#include "ops/kernels/tf32_convolution.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "ops/kernels/convolution_work.hpp"
#include "ops/kernels/traffic.hpp"

namespace lockstep {
namespace {

using Pass = Convolution::Pass;

constexpr double kChannelsOfBlock = 32;  // nchwToNhwcKernel's grid: pixels / 32, channels / 32, images
constexpr std::int64_t kAligned = 4;     // channels that are gathered at a time
constexpr double kOddDepth = 12;         // prologue and epilogue of a product on CUDA cores: see the header

double in_whole(std::int64_t size, int tile) {
  return std::ceil(static_cast<double>(size) / tile) * tile;
}

Seconds weight_gradient_time(const Convolution& of, const Tf32ConvolutionProfile& profile,
                             const GpuSpec& gpu) {
  const Gemm product = product_of(of);
  const FlopsPerSecond peak = peak_of(gpu, DataType::TF32) * profile.weight_gradient;
  const Bytes moved = size_of(DataType::TF32) * (inputs_of(of) + outputs_of(of) + filters_of(of));
  Seconds best{std::numeric_limits<double>::infinity()};
  for (const GemmTile& tile : profile.implicit.tiles) {
    const double area = std::min(in_whole(product.m, tile.rows) * in_whole(product.n, tile.columns),
                                 in_whole(product.n, tile.rows) * in_whole(product.m, tile.columns));
    best = std::min(best, Flops{2 * area * static_cast<double>(product.k)} / (peak * tile.efficiency));
  }
  return std::max(best, moved / (gpu.memory_bandwidth * profile.implicit.memory)) +
         kSplitLaunch * profile.implicit.fixed;
}

Seconds filter_copy_time(const Convolution& of, const Tf32ConvolutionProfile& profile, const GpuSpec& gpu) {
  const double blocks = static_cast<double>(of.out_channels) *
                        std::ceil(static_cast<double>(of.in_channels) / kChannelsOfBlock);
  const bool is_pixel = of.filter_height * of.filter_width == 1;
  const Bytes moved = 2 * size_of(DataType::TF32) * filters_of(of);
  return gpu.kernel_minimum +
         std::max(moved / (gpu.memory_bandwidth * gpu.efficiency->memory),
                  blocks * (is_pixel ? profile.copied_pixel_filter : profile.copied_filter));
}

/// Of the FP32 peak, on CUDA cores; 0: on tensor cores.
double odd_rate(const Convolution& of, const Tf32ConvolutionProfile& profile) {
  if (!of.channels_first || of.in_channels % kAligned == 0 || of.pass == Pass::DataGradient) return 0;
  return of.pass == Pass::Forward ? profile.odd_channels : profile.odd_weight_gradient;
}

Seconds odd_time(const Convolution& of, double rate, const Tf32ConvolutionProfile& profile,
                 const GpuSpec& gpu) {
  const double depth = filters_of(of) / static_cast<double>(of.out_channels);
  return profile.implicit.fixed +
         Flops{2 * outputs_of(of) * (depth + kOddDepth)} / (peak_of(gpu, DataType::FP32) * rate);
}

}  // namespace

Seconds time_of_tf32_convolution(const Convolution& of, const GpuSpec& gpu) {
  const Tf32ConvolutionProfile& profile = *gpu.efficiency->tf32_convolution;
  if (of.channels_first && is_batched_product(of)) {
    const bool is_own =
        profile.own_products_from > 0 && of.height * of.width % profile.own_products_from == 0;
    return batched_product_time(of, is_own ? gpu.efficiency->tensor : profile.direct, gpu, DataType::TF32);
  }
  if (const double rate = odd_rate(of, profile); rate > 0) return odd_time(of, rate, profile, gpu);
  const double rate = of.pass == Pass::DataGradient ? profile.data_gradient : 1;
  Seconds time = of.pass == Pass::WeightGradient
                     ? weight_gradient_time(of, profile, gpu)
                     : implicit_time(of, profile.implicit, rate, gpu, DataType::TF32, profile.skips_strides);
  if (of.channels_first) {
    time += layout_time(of, of.pass == Pass::Forward && profile.writes_images, gpu, DataType::TF32) +
            filter_copy_time(of, profile, gpu);
  }
  return time;
}

}  // namespace lockstep
