#include "ops/kernels/attention.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>

#include "ops/kernels/make_prediction.hpp"
#include "ops/kernels/tile_schedule.hpp"
#include "ops/kernels/traffic.hpp"

namespace lockstep {
namespace {

constexpr double kRowsPerTile = 128;    // FlashAttention-2's block of queries (arXiv 2307.08691, section 3.3)
constexpr double kBackwardFlops = 2.5;  // five products against two (same, section 4.1)

constexpr double kHalfBlock = 64;  // of keys computed beyond the diagonal, in blocks of 128 or more
constexpr double kWholeRateHead = 128;
// Rows or columns that a tile goes through at a time (FlashAttention-2's flash_fwd_launch_template.h,
// flash_bwd_launch_template.h: run_mha_fwd_hdim64: kBlockN = 128, wider heads: 64; run_mha_bwd_hdim64:
// kBlockM = 128, wider heads: 64).
constexpr double kNarrowHead = 64, kStepOfNarrowHeads = 128, kStepOfWideHeads = 64;
constexpr Bytes kSharedMemoryOfHopper{228.0 * 1024};  // of an SM; Hopper whitepaper
constexpr double kProductsOfFastFp32 = 3;  // 3xTF32: OpMultiplyAddFastF32 from compute capability 8.0 on

/// One direction of a version.
struct Pass {
  double rate;          ///< of FlashAttention-2's forward at head size 128
  double once;          ///< what a tile does once, as if it had so many columns more
  double exponentials;  ///< of the time at head size 128, of which narrower heads have as many
  double dropped = 0;   ///< instructions of a thread for a score that may be dropped
  double rows = kRowsPerTile;
};

/// How a version computes.
struct Version {
  Pass forward, backward;
  double masked;  ///< of the rate that is left with a mask
  std::int64_t largest_head;
};

// Rates in arXiv 2407.08608, figures 5 and 6 (H100 at 1,830 MHz, 16,384 tokens, 2,048 elements of all heads,
// TFLOPS, 512 to 16,384 tokens; appendix: FlashAttention 2.5.8, cuDNN 9.1.1):
//   FlashAttention-2, head size 128: 309 350 362 368 370 370 forward, with a mask 191 260 298 319 333 335,
//   backward 214 260 291 310 318 322; head size 64: 282 306 318 321 322 324, with a mask 180 229 262 284 295
//   299, backward 198 238 264 279 287 291.
//   FlashAttention-3, 128: 467 565 625 638 646 648; 292 423 521 579 602 616; 316 424 501 542 559 561;
//   64: 333 392 460 476 496 497; 197 265 371 420 460 473; 272 363 422 453 472 474.
//   cuDNN, 128: 497 574 617 609 600 595; 315 410 484 518 529 539; 305 408 465 499 518 516;
//   64: 335 373 395 408 412 413; 225 288 334 363 379 388; 266 348 395 417 432 433.
// Each version's numbers are fitted to its own 36 rates; `masked` of 2 and cuDNN, behind tiles of unequal
// length, to the 12 with a mask. On an H100 FlashAttention-2's 34 rows ask for 0.93, too, memory-efficient
// attention's 68 for 0.98 to 1.12.
constexpr double kBackwardTwo = 0.88;
// Dropout, H100, batches with 10 % and without: calibration/measurements/h100/pytorch_attention.csv.
constexpr Version kVersionTwo{{1, 80, 0.142, 6.2}, {kBackwardTwo, 235, 0.142, 10.3}, 0.93, 256};
constexpr Version kVersionThree{{1.88, 265, 0.384}, {1.585, 413, 0.18}, 0.955, 128};
constexpr Version kCuDnn{{1.66, 120, 0.456, 19.3}, {1.45, 355, 0.181, 10.7}, 0.94, 128};
/// In Triton: FlashAttention-2 is "1.3-1.5x faster" forward, "around 2x" backward (arXiv 2307.08691, 4.1).
/// Its head size: asserted by flash_attn_triton.py.
constexpr Version kVersionOne{{1 / 1.4, 80, 0.142}, {kBackwardTwo / 2, 235, 0.142}, 0.93, 128};
/// In CUDA: FlashAttention-2 is "around 2x faster than FlashAttention" (the same section). Its largest head:
/// csrc/flash_attn/fmha_api.cpp, run_fmha_fwd.
constexpr Version kVersionOneCuda{{1.0 / 2, 80, 0.142}, {kBackwardTwo / 2, 235, 0.142}, 0.93, 128};
/// xFormers' kernels in CUTLASS, PyTorch 2.11: fitted to 56 rows of each direction and type on an H100 (same
/// table); FP32's forward kernel, fmha_cutlassF_f32_aligned_64x64_rf_sm80, has tiles of 64 rows;
/// "FlashAttention-2 is around 2x faster" (2307.08691, 4.1).
constexpr Version kMemoryEfficient{{0.483, 63, 0.351, 42}, {0.372, 18, 0.307, 63}, 1, 256};
constexpr Version kMemoryEfficientInParts{{0.745, 64, 0.325, 50, 64}, {0.592, 0, 0.066, 62}, 1, 256};

/// Part of the tensor peak that FlashAttention-2 reaches where its instructions fill the tensor cores (A100,
/// arXiv 2307.08691, section 4.1). What versions for Hopper gain by its new instructions ends there.
constexpr double kMostOfThePeak = 0.73;

/// Tensors of queries or keys that one pass reads and writes.
struct Passes {
  double reads_of_queries, reads_of_keys, writes_of_queries, writes_of_keys;
};
constexpr Passes kForward{1, 2, 1, 0};   // Q; K, V; O
constexpr Passes kBackward{3, 2, 1, 2};  // Q, O, dO; K, V; dQ; dK, dV

/// Columns that a tile of @p rows multiplies on the mean: all of them in whole steps (those past the end are
/// masked, not left out), or with a mask half of them and half a block.
double columns_of_a_tile(double columns, double rows, double head_size, bool causal) {
  const double step = std::min(rows, head_size <= kNarrowHead ? kStepOfNarrowHeads : kStepOfWideHeads);
  const double all = std::ceil(columns / step) * step;
  return causal ? all / 2 + std::min({kHalfBlock, rows / 2, all / 2}) : all;
}

const Version& version_of(FlashVersion version, bool in_parts) {
  switch (version) {
    case FlashVersion::One:
      return kVersionOne;
    case FlashVersion::OneCuda:
      return kVersionOneCuda;
    case FlashVersion::Two:
      return kVersionTwo;
    case FlashVersion::Three:
      return kVersionThree;
    case FlashVersion::CuDnn:
      return kCuDnn;
    case FlashVersion::MemoryEfficient:
      return in_parts ? kMemoryEfficientInParts : kMemoryEfficient;
  }
  return kVersionTwo;
}

/// Memory-efficient attention in FP32, and where TF32 is allowed no less, multiplies three TF32 products in
/// place of one.
bool multiplies_in_parts(const KernelCall& call, FlashVersion version, const GpuSpec& gpu) {
  const bool is_wide = call.type == DataType::FP32 || call.type == DataType::TF32;
  return version == FlashVersion::MemoryEfficient && is_wide && uses_tensor_cores(gpu, DataType::TF32);
}

FlopsPerSecond peak_of_attention(const KernelCall& call, bool in_parts, const GpuSpec& gpu) {
  return in_parts ? peak_of(gpu, DataType::TF32) / kProductsOfFastFp32 : peak_of(gpu, call.type);
}

/// Part of the tensor peak: never more than kMostOfThePeak gives, unless FlashAttention-2 has it.
double rate_of(const Pass& pass, const Pass& two, double attention) {
  return std::min(attention * pass.rate, std::max(attention, kMostOfThePeak) * two.rate);
}

/// How one direction is computed on a GPU.
struct Way {
  double rate;  ///< of the tensor peak, head size 128, no mask
  double once, exponentials, masked, rows, dropped;
};

Way way_of(FlashVersion version, bool in_parts, Direction direction, const KernelEfficiency& efficiency) {
  const bool backward = direction == Direction::Backward;
  const Version& chosen = version_of(version, in_parts);
  const Pass& pass = backward ? chosen.backward : chosen.forward;
  if (version == FlashVersion::CuDnn && efficiency.cudnn_attention) {
    const CudnnAttentionProfile& own = *efficiency.cudnn_attention;
    return {backward ? own.backward : own.forward,
            backward ? own.backward_once : own.forward_once,
            backward ? own.backward_exponentials : own.forward_exponentials,
            own.masked,
            static_cast<double>(own.rows),
            pass.dropped};
  }
  const Pass& two = backward ? kVersionTwo.backward : kVersionTwo.forward;
  return {rate_of(pass, two, efficiency.attention),
          pass.once,
          pass.exponentials,
          chosen.masked,
          pass.rows,
          pass.dropped};
}

/// FlashAttention-3's DynamicPersistentTileScheduler (hopper/tile_scheduler.hpp); cuDNN's kernels for
/// tcgen05, which lose nothing with a mask (configs/kernel_efficiency/b200.yaml, `masked: 1`).
bool takes_long_tiles_first(FlashVersion version, const KernelEfficiency& efficiency) {
  const bool is_for_blackwell = efficiency.cudnn_attention && !efficiency.cudnn_attention->flash_3;
  return version == FlashVersion::Three || (version == FlashVersion::CuDnn && is_for_blackwell);
}

/// FlashAttention-3 is made of instructions that only Hopper has: products in FP8 and so much shared memory
/// tell it from Ampere and Ada, Blackwell's sets say that it does not run.
bool runs_on(FlashVersion version, const GpuSpec& gpu) {
  const auto& own = gpu.efficiency->cudnn_attention;
  return version != FlashVersion::Three ||
         (gpu.peak.fp8 > FlopsPerSecond{0} && gpu.shared_memory_per_sm >= kSharedMemoryOfHopper &&
          (!own || own->flash_3));
}

/// Row sums of @p one tensor of queries times another, and its conversion from twice its bytes.
Seconds time_apart(Bytes one, const GpuSpec& gpu) {
  return gpu.kernel_minimum * 2.0 + time_to_move(streamed(one * 2.0, Bytes{0}), gpu) +
         time_to_move(streamed(one * 2.0, one), gpu);
}

/// Head sizes of a version's kernels in CUDA, which take what a narrower head lacks as zeros.
/// FlashAttention 1: csrc/flash_attn/fmha_api.cpp, run_fmha_fwd, run_fmha_bwd; FlashAttention-2 up to 2.6:
/// csrc/flash_attn/src/static_switch.h, HEADDIM_SWITCH; FlashAttention-3: hopper/flash_api.cpp.
std::span<const double> heads_of_kernels(FlashVersion version) {
  static constexpr std::array kOne{32.0, 64.0, 128.0};
  static constexpr std::array kTwo{32.0, 64.0, 96.0, 128.0, 160.0, 192.0, 224.0, 256.0};
  static constexpr std::array kThree{64.0, 96.0, 128.0, 192.0, 256.0};
  switch (version) {
    case FlashVersion::OneCuda:
      return kOne;
    case FlashVersion::Two:
      return kTwo;
    case FlashVersion::Three:
      return kThree;
    default:
      return {};
  }
}

/// Elements of a head that products go over.
double computed_head(FlashVersion version, double size) {
  const auto heads = heads_of_kernels(version);
  const auto wide = std::ranges::find_if(heads, [&](double head) { return head >= size; });
  return wide == heads.end() ? size : *wide;
}

double rate_of_head(double size, double exponentials) {
  return 1 / (1 - exponentials + exponentials * kWholeRateHead / std::min(size, kWholeRateHead));
}

}  // namespace

std::string FlashAttentionModel::name() const {
  return "flash attention: tiles over the SMs, roofline";
}

Prediction FlashAttentionModel::predict(const KernelCall& call, const GpuSpec& gpu) const {
  const auto& work = std::get<FlashAttention>(call.work);
  const bool backward = work.direction == Direction::Backward;
  const bool in_parts = multiplies_in_parts(call, work.version, gpu);
  const Way way = way_of(work.version, in_parts, work.direction, *gpu.efficiency);
  const auto heads = static_cast<double>(work.batch * work.heads);
  const auto queries = static_cast<double>(work.queries), keys = static_cast<double>(work.keys);
  const auto stored = static_cast<double>(work.head_size);
  const double size = computed_head(work.version, stored);

  const double rows = std::ceil((backward ? keys : queries) / way.rows), tiles = heads * rows;
  const double columns = columns_of_a_tile(backward ? queries : keys, way.rows, size, work.causal);
  const bool is_ragged = work.causal && !takes_long_tiles_first(work.version, *gpu.efficiency);
  const double busy = is_ragged ? 1 / ragged_share({heads, rows, columns, way.rows, way.once}, gpu.sm_count)
                                : tiles / (std::ceil(tiles / gpu.sm_count) * gpu.sm_count);
  const FlopsPerSecond rate =
      peak_of_attention(call, in_parts, gpu) *
      (way.rate * busy * rate_of_head(size, way.exponentials) * (work.causal ? way.masked : 1));
  const double all_rows = tiles * way.rows;  // the last of a head is computed whole
  const Flops flops{4 * size * (backward ? kBackwardFlops : 1) * all_rows * (columns + way.once)};
  const double scores = work.dropout ? all_rows * columns : 0;

  const Passes& passes = backward ? kBackward : kForward;
  const Bytes one = size_of(call.type) * (heads * stored);
  const Traffic traffic = streamed(one * (passes.reads_of_queries * queries + passes.reads_of_keys * keys),
                                   one * (passes.writes_of_queries * queries + passes.writes_of_keys * keys));
  const Seconds time = std::max(flops / rate, time_to_move(traffic, gpu)) +
                       time_to_issue(way.dropped * scores, gpu) * (is_ragged ? 1 / busy : 1);
  const Seconds apart = backward && work.main_alone ? time_apart(one * queries, gpu) : Seconds{0};
  return make_prediction(gpu.kernel_minimum + std::max(time - apart, Seconds{0}), 0.3, false,
                         runs_on(work.version, gpu) && work.head_size >= 32 &&
                             work.head_size <= version_of(work.version, in_parts).largest_head);
}

}  // namespace lockstep
