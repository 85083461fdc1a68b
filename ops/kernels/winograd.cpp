#include "ops/kernels/winograd.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "ops/kernels/convolution_work.hpp"
#include "ops/kernels/gemm.hpp"

namespace lockstep {
namespace {

using Pass = Convolution::Pass;

/// Outputs that a block of the fused Winograd kernel covers: tiles of 2 x 2 of so many images; always 32.
struct Region {
  double images, rows, columns;
};
constexpr std::array kRegions{Region{1, 4, 8}, Region{2, 4, 4}, Region{4, 4, 2},
                              Region{4, 2, 4}, Region{2, 2, 8}, Region{4, 1, 8}};
constexpr double kTilesOfBlock = 32;
constexpr double kChannelsOfBlock = 32;
constexpr double kImagesOfUnfused = 16;  // grids of all of NeuSight's: whole groups of so many

double tiles_along(std::int64_t pixels, double tile) {
  return std::ceil(static_cast<double>(pixels) / tile);
}

}  // namespace

Seconds fused_winograd_time(const Convolution& of, const GpuSpec& gpu) {
  const ConvolutionProfile& profile = gpu.efficiency->convolution;
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

Seconds unfused_winograd_time(const Convolution& of, int largest_split, const GpuSpec& gpu) {
  const ConvolutionProfile& profile = gpu.efficiency->convolution;
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
  by.largest_split = largest_split;
  const double transformed =
      36.0 * static_cast<double>(tiles) * static_cast<double>(of.in_channels + of.out_channels);
  const Bytes moved =
      size_of(DataType::FP32) * (inputs_of(of) + outputs_of(of) + transformed + 5 * filters_of(of));
  return 3 * profile.implicit.fixed + time_of_product(product, by, gpu, DataType::FP32) +
         moved / (gpu.memory_bandwidth * profile.transforms);
}

}  // namespace lockstep
