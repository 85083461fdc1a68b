#include "ops/kernels/attention.hpp"

#include <algorithm>
#include <cmath>

#include "ops/kernels/answer.hpp"
#include "ops/kernels/traffic.hpp"

namespace lockstep {
namespace {

constexpr double kRowsPerTile = 128;    // FlashAttention-2's block of queries (arXiv 2307.08691, section 3.3)
constexpr double kBackwardFlops = 2.5;  // five products against two (same, section 4.1)

/// Part of FlashAttention-2's forward rate that a version reaches.
struct RelativeRate {
  double forward, backward;
};
/// A100: 170 to 190 TFLOPS backward against 200 to 230 forward (same, section 4.1).
constexpr RelativeRate kVersionTwo{1, 0.8};
/// In Triton: FlashAttention-2 is "1.3-1.5x faster" forward, "around 2x" backward (same, section 4.1).
constexpr RelativeRate kVersionOne{kVersionTwo.forward / 1.4, kVersionTwo.backward / 2};
constexpr std::int64_t kLargestHeadOfVersionOne = 128;  // asserted by flash_attn_triton.py

/// Tensors of queries or keys that one pass reads and writes.
struct Passes {
  double reads_of_queries, reads_of_keys, writes_of_queries, writes_of_keys;
};
constexpr Passes kForward{1, 2, 1, 0};   // Q; K, V; O
constexpr Passes kBackward{3, 2, 1, 2};  // Q, O, dO; K, V; dQ; dK, dV

}  // namespace

std::string FlashAttentionModel::name() const {
  return "flash attention: tiles over the SMs, roofline";
}

Prediction FlashAttentionModel::predict(const KernelCall& call, const GpuSpec& gpu) const {
  const auto& work = std::get<FlashAttention>(call.work);
  const bool backward = work.direction == Direction::Backward;
  const auto heads = static_cast<double>(work.batch * work.heads);
  const auto queries = static_cast<double>(work.queries), keys = static_cast<double>(work.keys);
  const auto size = static_cast<double>(work.head_size);

  const Flops flops{4 * heads * queries * keys * size * (work.causal ? 0.5 : 1) *
                    (backward ? kBackwardFlops : 1)};
  const double tiles = heads * std::ceil((backward ? keys : queries) / kRowsPerTile);
  const double busy = tiles / (std::ceil(tiles / gpu.sm_count) * gpu.sm_count);
  const bool first = work.version == FlashVersion::One;
  const RelativeRate& relative = first ? kVersionOne : kVersionTwo;
  const FlopsPerSecond rate = peak_of(gpu, call.type) * (gpu.efficiency->attention * busy *
                                                         (backward ? relative.backward : relative.forward));

  const Passes& passes = backward ? kBackward : kForward;
  const Bytes one = size_of(call.type) * (heads * size);
  const Traffic traffic = streamed(one * (passes.reads_of_queries * queries + passes.reads_of_keys * keys),
                                   one * (passes.writes_of_queries * queries + passes.writes_of_keys * keys));
  const Seconds time = std::max(flops / rate, time_to_move(traffic, gpu));
  const std::int64_t largest = first ? kLargestHeadOfVersionOne : 256;
  return answer(gpu.kernel_minimum + time, 0.3, false, work.head_size >= 32 && work.head_size <= largest);
}

}  // namespace lockstep
