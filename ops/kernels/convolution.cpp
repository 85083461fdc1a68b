#include "ops/kernels/convolution.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "ops/kernels/answer.hpp"
#include "ops/kernels/convolution_work.hpp"
#include "ops/kernels/gemm.hpp"
#include "ops/kernels/tensor_convolution.hpp"
#include "ops/kernels/traffic.hpp"

namespace lockstep {
namespace {

using Pass = Convolution::Pass;

/// What a block of the fused Winograd kernel covers: tiles of 2 x 2 outputs of so many images; always 32.
struct Region {
  double images, rows, columns;
};
constexpr std::array kRegions{Region{1, 4, 8}, Region{2, 4, 4}, Region{4, 4, 2},
                              Region{4, 2, 4}, Region{2, 2, 8}, Region{4, 1, 8}};
constexpr double kTilesOfBlock = 32;
constexpr double kChannelsOfBlock = 32;
constexpr double kImagesOfUnfused = 16;  // grids of all of NeuSight's: whole groups of so many

void check(const Convolution& of) {
  const std::int64_t least =
      std::min({of.batch, of.in_channels, of.out_channels, of.height, of.width, of.filter_height,
                of.filter_width, of.stride, of.padding_height + 1, of.padding_width + 1});
  if (least < 1 || of.out_height() < 1 || of.out_width() < 1) {
    throw std::invalid_argument{fmt::format(
        "a convolution of {} x [{} x {} x {}] with [{} x {} x {} x {}], stride {}", of.batch, of.in_channels,
        of.height, of.width, of.out_channels, of.in_channels, of.filter_height, of.filter_width, of.stride)};
  }
}

double rate_of(const Convolution& of, const ConvolutionProfile& profile) {
  const ConvolutionRates& rates = of.tuned ? profile.tuned : profile.guessed;
  switch (of.pass) {
    case Pass::Forward:
      return of.filter_height * of.filter_width == 1 ? rates.one_by_one : 1;
    case Pass::DataGradient:
      return of.stride > 1 ? profile.guessed.data_gradient : rates.data_gradient;
    case Pass::WeightGradient:
      return rates.weight_gradient;
  }
  return 1;
}

double tiles_along(std::int64_t pixels, double tile) {
  return std::ceil(static_cast<double>(pixels) / tile);
}

Seconds fused_winograd_time(const Convolution& of, const ConvolutionProfile& profile, const GpuSpec& gpu) {
  const bool forward = of.pass == Pass::Forward;
  const double depth = static_cast<double>(forward ? of.in_channels : of.out_channels);
  const auto channels = static_cast<double>(forward ? of.out_channels : of.in_channels);
  double blocks = std::numeric_limits<double>::infinity();
  for (const Region& region : kRegions) {
    blocks = std::min(blocks, std::ceil(static_cast<double>(of.batch) / region.images) *
                                  std::ceil(tiles_along(of.out_height(), 2) / region.rows) *
                                  std::ceil(tiles_along(of.out_width(), 2) / region.columns) *
                                  std::ceil(channels / kChannelsOfBlock));
  }
  const Flops of_block{2 * 16 * kTilesOfBlock * kChannelsOfBlock * (depth + profile.implicit.fixed_depth)};
  const FlopsPerSecond rate = gpu.peak.fp32 / gpu.sm_count * profile.winograd;
  return profile.implicit.fixed + std::ceil(blocks / gpu.sm_count) * of_block / rate;
}

Seconds unfused_winograd_time(const Convolution& of, const ConvolutionProfile& profile, const GpuSpec& gpu) {
  const double images = std::ceil(static_cast<double>(of.batch) / kImagesOfUnfused) * kImagesOfUnfused;
  const auto tiles =
      static_cast<std::int64_t>(images * tiles_along(of.out_height(), 4) * tiles_along(of.out_width(), 4));
  Gemm product{.batch = 36, .m = tiles, .n = of.out_channels, .k = of.in_channels};
  if (of.pass == Pass::DataGradient) std::swap(product.n, product.k);
  if (of.pass == Pass::WeightGradient) std::swap(product.m, product.k);
  GemmProfile by = gpu.efficiency->fp32_batched;
  for (GemmTile& tile : by.tiles) tile.efficiency *= profile.products;
  by.fixed = Seconds{0};
  by.memory = profile.transforms;
  by.largest_split = of.pass == Pass::WeightGradient ? profile.implicit.largest_split : 1;
  const double transformed =
      36.0 * static_cast<double>(tiles) * static_cast<double>(of.in_channels + of.out_channels);
  const Bytes moved =
      size_of(DataType::FP32) * (inputs_of(of) + outputs_of(of) + transformed + 5 * filters_of(of));
  return 3 * profile.implicit.fixed + time_of_product(product, by, gpu, DataType::FP32) +
         moved / (gpu.memory_bandwidth * profile.transforms);
}

/// TF32 gathers four channels at a time. Images of other numbers of them, a network's first, go forward on
/// FP32's cores.
DataType units_of(const Convolution& of, DataType type) {
  const bool is_odd = of.channels_first && of.pass == Pass::Forward && of.in_channels % 4 != 0;
  return type == DataType::TF32 && is_odd ? DataType::FP32 : type;
}

/// Where no kernels of the GPU were seen: at the rate of products of the type. TF32's leave NCHW themselves
/// (..._nhwckrsc_nchw).
TensorConvolutionProfile unseen(DataType type) {
  TensorConvolutionProfile profile;
  profile.writes_images = type == DataType::TF32;
  return profile;
}

}  // namespace

std::string ConvolutionModel::name() const {
  return "convolution: implicit product or Winograd";
}

Prediction ConvolutionModel::predict(const KernelCall& call, const GpuSpec& gpu) const {
  const auto& of = std::get<Convolution>(call.work);
  check(of);
  const ConvolutionProfile& profile = gpu.efficiency->convolution;
  const auto& seen =
      call.type == DataType::TF32 ? gpu.efficiency->tf32_convolution : gpu.efficiency->tensor_convolution;
  const DataType type = seen ? call.type : units_of(of, call.type);
  if (uses_tensor_cores(gpu, type)) {
    const TensorConvolutionProfile by = seen.value_or(unseen(type));
    return answer(time_of_tensor_convolution(of, by, gpu, type), seen ? 0.15 : 0.2, by.calibrated);
  }
  Seconds best = implicit_time(of, profile.implicit, rate_of(of, profile), gpu, type);
  if (of.filter_height == 3 && of.filter_width == 3 && of.stride == 1) {
    best = std::min(best, unfused_winograd_time(of, profile, gpu));
    if (of.pass != Pass::WeightGradient) best = std::min(best, fused_winograd_time(of, profile, gpu));
  }
  if (!of.channels_first) best += time_of_layout_copies(of, {}, gpu, type);
  return answer(best, 0.2, profile.calibrated);
}

}  // namespace lockstep
