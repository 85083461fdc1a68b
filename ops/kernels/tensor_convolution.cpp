#include "ops/kernels/tensor_convolution.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "ops/kernels/convolution_work.hpp"
#include "ops/kernels/traffic.hpp"

namespace lockstep {
namespace {

using Pass = Convolution::Pass;

constexpr double kTileSide = 32;  // channels, pixels: nchwToNhwcKernel's grid is over these and images
/// nhwcToNchwKernel: a tile takes 2.0 ns where the other way takes 1.6 (tools/derive/hopper_convolutions.py).
constexpr double kBack = 1.26;
constexpr std::int64_t kAligned = 4;  // channels that are gathered at a time
constexpr double kOddDepth = 12;      // prologue and epilogue of an odd product: see the header
constexpr Bytes kVector{16};  // that a pixel's channels are padded to, and an image's rows are read by

double in_whole(std::int64_t size, int tile) {
  return std::ceil(static_cast<double>(size) / tile) * tile;
}

const GemmProfile& products_of(DataType type, const GpuSpec& gpu) {
  const KernelEfficiency& reached = *gpu.efficiency;
  return type == DataType::TF32 && reached.tf32 ? *reached.tf32 : reached.tensor;
}

/// The products without measurements of their own: those of the type. But cuDNN has kernels for images of few
/// channels, which do not lose what cuBLAS loses with rows of odd numbers of elements.
GemmProfile implicit_products(const TensorConvolutionProfile& profile, DataType type, const GpuSpec& gpu) {
  if (profile.implicit) return *profile.implicit;
  GemmProfile products = products_of(type, gpu);
  products.odd.reset();
  return products;
}

Seconds shared_depth_time(const Convolution& of, const TensorConvolutionProfile& profile, const GpuSpec& gpu,
                          DataType type) {
  const Gemm product = product_of(of);
  const FlopsPerSecond peak = peak_of(gpu, type) * profile.weight_gradient;
  const Bytes moved = size_of(type) * (inputs_of(of) + outputs_of(of) + filters_of(of));
  const GemmProfile implicit = implicit_products(profile, type, gpu);
  Seconds best{std::numeric_limits<double>::infinity()};
  for (const GemmTile& tile : implicit.tiles) {
    const double area = std::min(in_whole(product.m, tile.rows) * in_whole(product.n, tile.columns),
                                 in_whole(product.n, tile.rows) * in_whole(product.m, tile.columns));
    best = std::min(best, Flops{2 * area * static_cast<double>(product.k)} / (peak * tile.efficiency));
  }
  return std::max(best, moved / (gpu.memory_bandwidth * implicit.memory)) + kSplitLaunch * implicit.fixed;
}

/// Time to copy one tensor, or filters as images of few pixels. @p tile: that a block copies
Seconds copy_time(double elements, double images, double channels, double pixels, Seconds tile,
                  const GpuSpec& gpu, DataType type) {
  const double tiles = images * std::ceil(channels / kTileSide) * std::ceil(pixels / kTileSide);
  return gpu.kernel_minimum +
         std::max(2 * size_of(type) * elements / (gpu.memory_bandwidth * gpu.efficiency->memory),
                  tiles * tile);
}

}  // namespace

Seconds time_of_layout_copies(const Convolution& of, const TensorConvolutionProfile& profile,
                              const GpuSpec& gpu, DataType type) {
  const auto images = static_cast<double>(of.batch);
  const auto in_pixels = static_cast<double>(of.height * of.width);
  const auto out_pixels = static_cast<double>(of.out_height() * of.out_width());
  const auto filter = static_cast<double>(of.filter_height * of.filter_width);
  const auto way = [&](Pass back) {
    return of.pass == back ? kBack * profile.copied_tile : profile.copied_tile;
  };
  Seconds time = copy_time(inputs_of(of), images, static_cast<double>(of.in_channels), in_pixels,
                           way(Pass::DataGradient), gpu, type);
  if (of.pass != Pass::Forward || !profile.writes_images) {
    time += copy_time(outputs_of(of), images, static_cast<double>(of.out_channels), out_pixels,
                      way(Pass::Forward), gpu, type);
  }
  const Seconds tile = filter == 1 ? profile.copied_pixel_filter : profile.copied_tile;
  if (tile > Seconds{0}) {
    time += copy_time(filters_of(of), static_cast<double>(of.out_channels),
                      static_cast<double>(of.in_channels), filter, tile, gpu, type);
  }
  return time;
}

namespace {

/// The padded tensor is filled, and written by a copy: of NCHW by time_of_layout_copies().
Seconds padding_time(const Convolution& of, const GpuSpec& gpu, DataType type) {
  const KernelEfficiency& reached = *gpu.efficiency;
  const Bytes pixel = size_of(type) * static_cast<double>(of.in_channels);
  const Bytes padded =
      std::ceil(pixel / kVector) * kVector * (inputs_of(of) / static_cast<double>(of.in_channels));
  const BytesPerSecond streams = gpu.memory_bandwidth * reached.memory;
  const Seconds filled = gpu.kernel_minimum + padded / (streams * reached.writes);
  if (of.channels_first) return filled;
  return filled + gpu.kernel_minimum +
         (size_of(type) * inputs_of(of) + padded) / (streams * reached.transposition);
}

/// Share of the FP32 peak; 0: as all others.
double odd_rate(const Convolution& of, const TensorConvolutionProfile& profile) {
  const bool is_seen = of.channels_first || profile.pads_channels;
  if (!is_seen || of.in_channels % kAligned == 0 || of.pass == Pass::DataGradient) return 0;
  return of.pass == Pass::Forward ? profile.odd_channels : profile.odd_weight_gradient;
}

Seconds odd_time(const Convolution& of, double rate, const TensorConvolutionProfile& profile,
                 const GpuSpec& gpu, DataType type) {
  const double depth = filters_of(of) / static_cast<double>(of.out_channels);
  Seconds time = implicit_products(profile, type, gpu).fixed +
                 Flops{2 * outputs_of(of) * (depth + kOddDepth)} / (peak_of(gpu, DataType::FP32) * rate);
  if (!profile.pads_channels) return time;
  time += padding_time(of, gpu, type);
  return of.channels_first ? time + time_of_layout_copies(of, profile, gpu, type) : time;
}

/// Whether cuBLAS computes it, images as they lie.
bool is_direct(const Convolution& of, const TensorConvolutionProfile& profile, DataType type) {
  if (!of.channels_first) return !profile.direct && is_product_of_pixels(of);
  if (!is_batched_product(of)) return false;
  const Bytes row = size_of(type) * static_cast<double>(of.height * of.width);
  return profile.direct || of.pass != Pass::WeightGradient || std::fmod(row / kVector, 1) == 0;
}

Seconds direct_time(const Convolution& of, const TensorConvolutionProfile& profile, const GpuSpec& gpu,
                    DataType type) {
  const GemmProfile& products = products_of(type, gpu);
  if (!of.channels_first) return implicit_time(of, products, 1, gpu, type);
  const bool is_own = !profile.direct || (profile.own_products_from > 0 &&
                                          of.height * of.width % profile.own_products_from == 0);
  return batched_product_time(of, is_own ? products : *profile.direct, gpu, type);
}

Seconds product_time(const Convolution& of, const TensorConvolutionProfile& profile, const GpuSpec& gpu,
                     DataType type) {
  if (of.pass == Pass::WeightGradient && profile.weight_gradient > 0) {
    return shared_depth_time(of, profile, gpu, type);
  }
  if (of.pass == Pass::WeightGradient && profile.weight_products) {
    return implicit_time(of, *profile.weight_products, 1, gpu, type);
  }
  double rate = 1;
  if (of.pass == Pass::DataGradient) {
    rate =
        of.stride > 1 ? profile.strided_data_gradient.value_or(profile.data_gradient) : profile.data_gradient;
  }
  return implicit_time(of, implicit_products(profile, type, gpu), rate, gpu, type, profile.skips_strides);
}

}  // namespace

Seconds time_of_tensor_convolution(const Convolution& of, const TensorConvolutionProfile& profile,
                                   const GpuSpec& gpu, DataType type) {
  if (is_direct(of, profile, type)) return direct_time(of, profile, gpu, type);
  if (const double rate = odd_rate(of, profile); rate > 0) return odd_time(of, rate, profile, gpu, type);
  const Seconds time = product_time(of, profile, gpu, type);
  return of.channels_first ? time + time_of_layout_copies(of, profile, gpu, type) : time;
}

}  // namespace lockstep
