#include "ops/kernels/gemm.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "ops/kernels/answer.hpp"
#include "ops/kernels/traffic.hpp"

namespace lockstep {
namespace {

constexpr std::array kSplits{1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 64, 128};
constexpr double kShortestDepth = 32;  // a split leaves each part at least one 32-deep step of the inner loop
constexpr double kFullWarps = 16;      // four per scheduler hide the latency of the inner loop
constexpr double kSplitLaunch = 1.5;   // of the fixed time: the parts are added by a kernel of their own
constexpr double kLargestChecked = 40000;

/// Products of FP8 operands leave BF16 (Transformer Engine's default output type).
Bytes size_of_result(DataType type) {
  return size_of(type == DataType::FP8 ? DataType::BF16 : type);
}

struct Shape {
  double batch, m, n, k;
};

Shape shape_of(const Gemm& gemm) {
  if (gemm.batch < 1 || gemm.m < 1 || gemm.n < 1 || gemm.k < 1) {
    throw std::invalid_argument(
        fmt::format("a product of {} x [{} x {}] [{} x {}]", gemm.batch, gemm.m, gemm.k, gemm.k, gemm.n));
  }
  return {static_cast<double>(gemm.batch), static_cast<double>(gemm.m), static_cast<double>(gemm.n),
          static_cast<double>(gemm.k)};
}

Seconds compute_time(const Shape& of, const GemmTile& tile, double split, double half_warps, double sms,
                     FlopsPerSecond sm_peak) {
  const double tiles = of.batch * std::ceil(of.m / tile.rows) * std::ceil(of.n / tile.columns);
  const double blocks = std::ceil(tiles * split / sms);
  const double warps = std::min(blocks * tile.warps, kFullWarps);
  const double full = warps / (warps + half_warps) * (kFullWarps + half_warps) / kFullWarps;
  return Flops{2 * blocks * tile.rows * tile.columns * of.k} / (sm_peak * (tile.efficiency * full));
}

Seconds best_time(const Shape& product, const GemmProfile& profile, const GpuSpec& gpu, DataType type) {
  const FlopsPerSecond sm_peak = peak_of(gpu, type) / gpu.sm_count;
  const BytesPerSecond dram = gpu.memory_bandwidth * profile.memory;
  Seconds best{std::numeric_limits<double>::infinity()};
  for (const int split : kSplits) {
    if (split > profile.largest_split || (split > 1 && product.k < split * kShortestDepth)) break;
    Shape part = product;
    part.k = std::ceil(product.k / split) + profile.fixed_depth;
    const double results = product.m * product.n * (split == 1 ? 1 : split + 2);
    const Bytes operands = size_of(type) * (product.batch * (product.m + product.n) * product.k);
    const Seconds memory = (operands + size_of_result(type) * (product.batch * results)) / dram;
    for (const GemmTile& tile : profile.tiles) {
      const Seconds compute = compute_time(part, tile, split, profile.half_warps, gpu.sm_count, sm_peak);
      best = std::min(best, std::max(compute, memory) + profile.fixed * (split == 1 ? 1 : kSplitLaunch));
    }
  }
  return best;
}

}  // namespace

std::string GemmModel::name() const {
  return "gemm: tiles in waves over the SMs, roofline";
}

Prediction GemmModel::predict(const KernelCall& call, const GpuSpec& gpu) const {
  const auto& gemm = std::get<Gemm>(call.work);
  const Shape shape = shape_of(gemm);
  const bool tensor = uses_tensor_cores(gpu, call.type);
  const KernelEfficiency& reached = *gpu.efficiency;
  const GemmProfile& profile =
      tensor ? reached.tensor : (gemm.batch > 1 ? reached.fp32_batched : reached.fp32);
  const bool in_range = std::max({shape.m, shape.n, shape.k}) <= kLargestChecked;
  return answer(best_time(shape, profile, gpu, call.type), 0.15,
                profile.calibrated && call.type != DataType::FP8, in_range);
}

}  // namespace lockstep
