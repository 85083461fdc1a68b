#include "ops/kernels/gemm.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "ops/kernels/answer.hpp"
#include "ops/kernels/traffic.hpp"

namespace lockstep {
namespace {

struct Tile {
  double m, n;
  double efficiency;  // of the best tile's rate: smaller tiles load more bytes per multiplication
};

// Tile shapes in the kernel names of cuBLAS (volta_sgemm_128x64_tn and relatives).
constexpr std::array<Tile, 5> kTiles{
    {{128, 128, 1.0}, {128, 64, 0.95}, {64, 64, 0.85}, {128, 32, 0.8}, {32, 32, 0.5}}};
constexpr std::array<double, 5> kSplits{1, 2, 4, 8, 16};
constexpr double kFixedDepth = 24;  // prologue and epilogue of a tile, in columns of A

double ceil_div(double a, double b) {
  return std::ceil(a / b);
}

Seconds compute_time(const Gemm& gemm, const GpuSpec& gpu, FlopsPerSecond rate) {
  const double sms = gpu.sm_count;
  double best = std::numeric_limits<double>::infinity();
  for (const Tile& tile : kTiles) {
    const double tiles = static_cast<double>(gemm.batch) * ceil_div(static_cast<double>(gemm.m), tile.m) *
                         ceil_div(static_cast<double>(gemm.n), tile.n);
    for (const double split : kSplits) {
      const double depth = ceil_div(static_cast<double>(gemm.k), split) + kFixedDepth * (split > 1 ? 2 : 1);
      const double waves = ceil_div(tiles * split, sms);
      best = std::min(best, waves * tile.m * tile.n * depth / tile.efficiency);
    }
  }
  return Flops{2 * best} / (rate / sms);
}

}  // namespace

std::string GemmModel::name() const {
  return "gemm: tiles in waves over the SMs, roofline";
}

Prediction GemmModel::predict(const KernelCall& call, const GpuSpec& gpu) const {
  const auto& gemm = std::get<Gemm>(call.work);
  const bool tensor = uses_tensor_cores(gpu, call.type);
  const FlopsPerSecond rate =
      peak_of(gpu, call.type) * (tensor ? gpu.efficiency.gemm_tensor : gpu.efficiency.gemm_fp32);
  const auto m = static_cast<double>(gemm.m), n = static_cast<double>(gemm.n),
             k = static_cast<double>(gemm.k);
  const Bytes bytes = size_of(call.type) * (static_cast<double>(gemm.batch) * (m * k + k * n + m * n));
  const Seconds time = std::max(compute_time(gemm, gpu, rate), time_to_move({bytes, bytes}, gpu));
  return answer(gpu.kernel_minimum + time, 0.2, gpu);
}

}  // namespace lockstep
