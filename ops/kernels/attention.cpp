#include "ops/kernels/attention.hpp"

#include <algorithm>
#include <cmath>

#include "ops/kernels/answer.hpp"
#include "ops/kernels/traffic.hpp"

namespace lockstep {
namespace {

constexpr double kRowsPerTile = 128;    // FlashAttention-2's block of queries (arXiv 2307.08691, section 3.3)
constexpr double kBackwardFlops = 2.5;  // five products against two (same, section 4.1)

// Of arXiv 2407.08608, figures 5 and 6 (H100, 16,384 tokens, 2,048 elements of all heads, TFLOPS):
//   FlashAttention-2, head size 128, 512 to 16,384 tokens: 309 350 362 368 370 370 forward, with a mask
//   191 260 298 319 333 335, backward 214 260 291 310 318 322; head size 64: 282 306 318 321 322 324, with a
//   mask 180 229 262 284 295 299, backward 198 238 264 279 287 291.
constexpr double kHalfBlock = 64;  // of keys computed beyond the diagonal, in blocks of 128
constexpr double kMasked = 0.92;   // of the rate that is left with a mask at 16,384 tokens, both head sizes
/// What a tile does once, as if it had so many columns more: loads its rows, divides, writes; backward the
/// kernels before and behind (row sums of dO O, the type of dQ) too.
constexpr double kOnceForward = 80, kOnceBackward = 235;
/// Of the time at head size 128: what exponentials take, of which narrower heads have as many.
constexpr double kExponentials = 0.142;
constexpr double kWholeRateHead = 128;

/// Part of FlashAttention-2's forward rate that a version reaches.
struct RelativeRate {
  double forward, backward;
};
/// 325 against 370 TFLOPS on H100; 63 against 73 % of the peak on A100 (arXiv 2307.08691, section 4.1).
constexpr RelativeRate kVersionTwo{1, 0.88};
/// In Triton: FlashAttention-2 is "1.3-1.5x faster" forward, "around 2x" backward (same, section 4.1).
constexpr RelativeRate kVersionOne{kVersionTwo.forward / 1.4, kVersionTwo.backward / 2};
/// xFormers' kernels in CUTLASS: FlashAttention-2 is "around 2x faster" (same).
constexpr RelativeRate kMemoryEfficient{kVersionTwo.forward / 2, kVersionTwo.backward / 2};
constexpr double kProductsOfFastFp32 = 3;  // 3xTF32: OpMultiplyAddFastF32 from compute capability 8.0 on
constexpr std::int64_t kLargestHeadOfVersionOne = 128;  // asserted by flash_attn_triton.py

/// Tensors of queries or keys that one pass reads and writes.
struct Passes {
  double reads_of_queries, reads_of_keys, writes_of_queries, writes_of_keys;
};
constexpr Passes kForward{1, 2, 1, 0};   // Q; K, V; O
constexpr Passes kBackward{3, 2, 1, 2};  // Q, O, dO; K, V; dQ; dK, dV

/// Columns that a tile of rows multiplies on the mean: all, or with a mask half of them and half a block.
double columns_of_a_tile(double columns, bool causal) {
  return causal ? columns / 2 + std::min(kHalfBlock, columns / 2) : columns;
}

const RelativeRate& relative_rate_of(FlashVersion version) {
  switch (version) {
    case FlashVersion::One:
      return kVersionOne;
    case FlashVersion::Two:
      return kVersionTwo;
    case FlashVersion::MemoryEfficient:
      return kMemoryEfficient;
  }
  return kVersionTwo;
}

/// Memory-efficient attention in FP32 multiplies three TF32 products in place of one, where there is TF32.
FlopsPerSecond peak_of_attention(const KernelCall& call, FlashVersion version, const GpuSpec& gpu) {
  const bool in_parts = version == FlashVersion::MemoryEfficient && call.type == DataType::FP32 &&
                        uses_tensor_cores(gpu, DataType::TF32);
  return in_parts ? peak_of(gpu, DataType::TF32) / kProductsOfFastFp32 : peak_of(gpu, call.type);
}

/// Part of the tensor peak.
double rate_of(FlashVersion version, const KernelEfficiency& efficiency, Direction direction) {
  const RelativeRate& relative = relative_rate_of(version);
  return efficiency.attention * (direction == Direction::Forward ? relative.forward : relative.backward);
}

double rate_of_head(double size) {
  return 1 / (1 - kExponentials + kExponentials * kWholeRateHead / std::min(size, kWholeRateHead));
}

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

  const double tiles = heads * std::ceil((backward ? keys : queries) / kRowsPerTile);
  const double busy = tiles / (std::ceil(tiles / gpu.sm_count) * gpu.sm_count);
  const FlopsPerSecond rate =
      peak_of_attention(call, work.version, gpu) * (rate_of(work.version, *gpu.efficiency, work.direction) *
                                                    busy * rate_of_head(size) * (work.causal ? kMasked : 1));
  const Flops flops{4 * heads * size * (backward ? kBackwardFlops * keys : queries) *
                    (columns_of_a_tile(backward ? queries : keys, work.causal) +
                     (backward ? kOnceBackward : kOnceForward))};

  const Passes& passes = backward ? kBackward : kForward;
  const Bytes one = size_of(call.type) * (heads * size);
  const Traffic traffic = streamed(one * (passes.reads_of_queries * queries + passes.reads_of_keys * keys),
                                   one * (passes.writes_of_queries * queries + passes.writes_of_keys * keys));
  const Seconds time = std::max(flops / rate, time_to_move(traffic, gpu));
  const std::int64_t largest = work.version == FlashVersion::One ? kLargestHeadOfVersionOne : 256;
  return answer(gpu.kernel_minimum + time, 0.3, false, work.head_size >= 32 && work.head_size <= largest);
}

}  // namespace lockstep
