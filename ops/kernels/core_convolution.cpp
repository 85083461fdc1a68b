#include "ops/kernels/core_convolution.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "ops/kernels/convolution_work.hpp"
#include "ops/kernels/gemm.hpp"
#include "ops/kernels/tensor_convolution.hpp"
#include "ops/kernels/traffic.hpp"
#include "ops/kernels/winograd.hpp"

namespace lockstep {
namespace {

using Pass = Convolution::Pass;

constexpr double kTile = 32;  // outputs of a block, and inputs of a summed one's
constexpr std::int64_t kSmallTransform = 16, kTransform = 32;
constexpr double kComplexFlops = 8;
constexpr Bytes kComplex{8};
constexpr Seconds kTurnedFilter{0.6e-9};

double in_tiles(std::int64_t size) {
  return std::ceil(static_cast<double>(size) / kTile) * kTile;
}

bool is_larger(const Convolution& of) {
  return of.filter_height * of.filter_width > 1;
}

Seconds scattered_time(const Convolution& of, const CoreConvolutionProfile& profile, const GpuSpec& gpu) {
  const Gemm product{.batch = of.batch,
                     .m = of.in_channels * of.filter_height * of.filter_width,
                     .n = of.out_height() * of.out_width(),
                     .k = of.out_channels};
  const Bytes input = size_of(DataType::FP32) * inputs_of(of);
  const Bytes others = size_of(DataType::FP32) * (outputs_of(of) + filters_of(of));
  return gpu.kernel_minimum + time_to_move(streamed(input, input), gpu) +
         time_of_product(product, profile.scattered, gpu, DataType::FP32, input + others);
}

Seconds summed_time(const Convolution& of, const CoreConvolutionProfile& profile, const GpuSpec& gpu) {
  const double rate = is_larger(of) ? profile.summed : profile.summed_pixels;
  const double area =
      in_tiles(of.in_channels * of.filter_height * of.filter_width) * in_tiles(of.out_channels);
  const auto pixels = static_cast<double>(of.batch * of.out_height() * of.out_width());
  return profile.scattered.fixed + Flops{2 * area * pixels} / (gpu.peak.fp32 * rate);
}

bool is_three_by_three(const Convolution& of) {
  return of.filter_height == 3 && of.filter_width == 3 && of.stride == 1;
}

Seconds spectral_time(const Convolution& of, const CoreConvolutionProfile& profile, const GpuSpec& gpu) {
  const std::int64_t with_borders = std::max(of.height + of.filter_height, of.width + of.filter_width) - 1;
  const bool forward = of.pass == Pass::Forward;
  const std::int64_t side = forward && with_borders <= kSmallTransform ? kSmallTransform : kTransform;
  const bool is_whole = with_borders <= side;
  const auto along = [side](std::int64_t out, std::int64_t filter) {
    return std::ceil(static_cast<double>(out) / static_cast<double>(side - filter + 1));
  };
  const double cut =
      is_whole ? 1 : along(of.out_height(), of.filter_height) * along(of.out_width(), of.filter_width);
  const double tiles = static_cast<double>(of.batch) * cut;
  const std::int64_t half = side / 2 + 1;  // of a real image's transform
  const auto points = static_cast<double>(side * half);
  const double depth =
      static_cast<double>(forward ? of.in_channels : of.out_channels) + profile.forward.fixed_depth;
  const std::int64_t to = forward ? of.out_channels : of.in_channels;
  const auto pairs = static_cast<double>(of.in_channels * of.out_channels);
  const auto channels = static_cast<double>(of.in_channels + of.out_channels);
  const Bytes moved = size_of(DataType::FP32) * (inputs_of(of) + outputs_of(of)) +
                      kComplex * (points * (tiles * channels + pairs));
  const double streams = is_whole ? profile.transforms : profile.tiled_transforms;
  return profile.forward.fixed +
         Flops{kComplexFlops * points * tiles * depth * in_tiles(to)} / (gpu.peak.fp32 * profile.spectral) +
         moved / (gpu.memory_bandwidth * streams) + (forward ? pairs : 0) * kTurnedFilter;
}

}  // namespace

Seconds time_of_core_convolution(const Convolution& of, const CoreConvolutionProfile& profile,
                                 const GpuSpec& gpu) {
  constexpr DataType kType = DataType::FP32;
  Seconds best{};
  if (of.pass == Pass::Forward) {
    best =
        implicit_time(of, profile.forward, of.stride > 1 && is_larger(of) ? profile.strided : 1, gpu, kType);
  } else if (of.pass == Pass::DataGradient) {
    best = scattered_time(of, profile, gpu);
    if (of.stride == 1) best = std::min(best, implicit_time(of, profile.data_gradient, 1, gpu, kType));
  } else {
    best = std::min(summed_time(of, profile, gpu), implicit_time(of, profile.weight_gradient, 1, gpu, kType) +
                                                       time_of_layout_copies(of, {}, gpu, kType));
  }
  if (!is_three_by_three(of)) return best;
  return std::min(best, of.pass == Pass::WeightGradient ? unfused_winograd_time(of, 1, gpu)
                                                        : spectral_time(of, profile, gpu));
}

}  // namespace lockstep
