#include "ops/kernels/attention.hpp"

#include <algorithm>
#include <cmath>

#include "ops/kernels/answer.hpp"
#include "ops/kernels/traffic.hpp"

namespace lockstep {
namespace {

constexpr double kRowsPerTile = 128;         // FlashAttention-2 block of queries (arXiv 2307.08691, sec. 3.3)
constexpr double kBackwardFlops = 2.5;       // five products against two (arXiv 2307.08691, sec. 4.1)
constexpr double kBackwardEfficiency = 0.8;  // A100: 196 of 230 TFLOP/s at best (same, figures 5 and 6)

}  // namespace

std::string FlashAttentionModel::name() const {
  return "flash attention: tiles over the SMs, roofline";
}

Prediction FlashAttentionModel::predict(const KernelCall& call, const GpuSpec& gpu) const {
  const auto& work = std::get<FlashAttention>(call.work);
  const bool backward = work.direction == Direction::Backward;
  const double heads = static_cast<double>(work.batch * work.heads);
  const auto queries = static_cast<double>(work.queries), keys = static_cast<double>(work.keys);
  const auto size = static_cast<double>(work.head_size);

  const double share = work.causal ? 0.5 : 1.0;
  const Flops flops{4 * heads * queries * keys * size * share * (backward ? kBackwardFlops : 1)};
  const double tiles = heads * std::ceil((backward ? keys : queries) / kRowsPerTile);
  const double busy = tiles / (std::ceil(tiles / gpu.sm_count) * gpu.sm_count);
  const FlopsPerSecond rate =
      peak_of(gpu, call.type) * (gpu.efficiency.attention * busy * (backward ? kBackwardEfficiency : 1));

  const double tensors = heads * size * (backward ? 4 * queries + 4 * keys : 2 * queries + 2 * keys);
  const Bytes bytes = size_of(call.type) * tensors;
  const Seconds time = std::max(flops / rate, time_to_move({bytes, bytes}, gpu));
  return answer(gpu.kernel_minimum + time, 0.3, gpu, work.head_size >= 32 && work.head_size <= 256);
}

}  // namespace lockstep
