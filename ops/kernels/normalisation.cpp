#include "ops/kernels/normalisation.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "ops/kernels/make_prediction.hpp"
#include "ops/kernels/traffic.hpp"

namespace lockstep {
namespace {

constexpr std::int64_t kLongestRow = 65536;
constexpr double kInstructionsOfSoftmax = 35;  // of a thread for an element there; see the header
constexpr double kThreadsOfALayerNorm = 128;   // vectorized_layer_norm_kernel: four warps
constexpr double kColumnsOfABlock = 32;        // GammaBetaBackward: a warp for each of some rows
constexpr Bytes kVector{16};                   // what a thread of cunn_SoftMaxForward reads at a time
constexpr std::int64_t kLargestBlock = 512;
constexpr double kHoldsAll = 1.5;  // of a cache less what is touched: see the header
constexpr Seconds kSumOfABlock{0.61e-6};
constexpr Seconds kAgainFromLevel1{0.46e-6};  // an iteration over a row
constexpr double kAgainFromLevel2 = 1.42;     // of what a vector for each thread of the GPU takes
constexpr double kOverlap = 1.4;  // 1: waiting and moving follow each other; infinite: they hide each other

/// Elements that bn_fw_tr_1C11 and bn_bw_1C11 get through in a clock: a block alone on its SM, and an SM full
/// of them.
struct Issued {
  double by_block, by_sm;
};
/// Clocks of an SM that PyTorch's layer-norm kernels take beside the bytes; see the header.
struct Clocks {
  double row, element;
};
constexpr Clocks kMoments{257, 0.41}, kWideMoments{310, 0.55};  // Welford's, joined by the block; of FP32
constexpr Clocks kMeanSquare{120, 0.2}, kWideMeanSquare{100, 0.36};  // RMS norm
constexpr Clocks kInputGradient{110, 0.39};
constexpr double kClocksOfABlocksRow = 9,
                 kClocksOfABlocksRowRms = 6.5;  // gradients of gain and bias, of gain
/// How arithmetic and moving hide behind each other: 1 not at all, infinite wholly.
constexpr double kForwardHides = 4, kInputGradientHides = 3, kParameterGradientHides = 2;

constexpr Issued kForwardIssued{0.73, 0.91};
constexpr Issued kBackwardIssued{0.36, 0.53};
constexpr Issued kOwnStatistics{0.55, 1.35};  // PyTorch's kernels, of BF16
constexpr Issued kOwnBackward{0.27, 0.63};
constexpr double kFlopsOfACore = 2;  // each clock

/// Reads and writes of the matrix; `again` are reads of rows that were read just before.
struct Passes {
  double reads, writes, again = 0;
  double count = 1;  ///< how often a block goes through its row
  double sums = 0;   ///< of a block, for which it waits

  /// Rows' worth of bytes that a block touches between two reads of the same bytes.
  [[nodiscard]] double touched() const { return (reads + again + writes) / count; }
};

/// A matrix that blocks go through, a row each at a time.
struct Rows {
  double count;
  Bytes size;      ///< of a row
  double threads;  ///< of a block

  /// Blocks on an SM at a time.
  [[nodiscard]] double resident(const GpuSpec& gpu) const {
    return std::max(1.0, std::floor(gpu.threads_per_sm / threads));
  }
};

/// Part of @p touched bytes that are no longer in @p cache when they are read again.
double missing(Bytes touched, Bytes cache) {
  return cache > Bytes{0} ? 1 - std::clamp(kHoldsAll - touched / cache, 0.0, 1.0) : 1;
}

double missing_level1(const Rows& rows, const Passes& passes, const GpuSpec& gpu) {
  const double blocks = std::min(std::ceil(rows.count / gpu.sm_count), rows.resident(gpu));
  return missing(rows.size * (blocks * passes.touched()), gpu.l1_size);
}

/// Each part of the level-2 cache keeps a copy of what its SMs read from memory at another part.
double missing_level2(const Rows& rows, const Passes& passes, const GpuSpec& gpu) {
  const double blocks = std::min(rows.count, gpu.sm_count * rows.resident(gpu));
  const double copies = 2 - 1.0 / gpu.l2_partitions;
  return missing(rows.size * (blocks * passes.touched()), gpu.l2_size / copies);
}

bool in_registers(const Softmax& softmax) {
  return softmax.columns <= softmax.row_of_a_warp;
}

/// Share of its elements that a row in registers reads and computes: with a causal mask 1 to all, by row.
double left_by_mask(const Softmax& softmax) {
  return softmax.causal ? 0.5 + 0.5 / static_cast<double>(softmax.columns) : 1;
}

/// SoftMax_getBlockSize: a power of two, at least half a thread for each vector.
std::int64_t threads_of_softmax(std::int64_t columns, std::int64_t vector) {
  const std::int64_t half = std::clamp<std::int64_t>(columns / vector / 2, 32, kLargestBlock);
  return static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(half)));
}

/// ilpReduce: how often a block of @p threads goes on in a row - to where a vector begins, a vector a thread,
/// an element a thread; the mean of rows that begin at a vector and rows that do not.
double iterations_over_row(std::int64_t columns, std::int64_t threads, std::int64_t vector) {
  std::int64_t iterations = 0;
  for (std::int64_t row = 0; row < vector; ++row) {
    const std::int64_t shift = row * columns % vector;
    const std::int64_t rest = shift > 0 ? std::max<std::int64_t>(0, columns + shift - threads) : columns;
    const std::int64_t tail = rest % (vector * threads);
    iterations += (shift > 0 ? 1 : 0) + rest / (vector * threads) + (tail + threads - 1) / threads;
  }
  return static_cast<double>(iterations) / static_cast<double>(vector);
}

/// A fused kernel goes through its row once where registers hold it.
Passes fused_passes(const FusedPasses& fused, std::int64_t columns, double count, double sums) {
  if (columns <= kRowOfAWarp) return {fused.reads, fused.writes};
  return {fused.reads, fused.writes, fused.again, count, sums};
}

Passes passes_of_one_type(const Softmax& softmax) {
  const bool forward = softmax.direction == Direction::Forward;
  if (softmax.fused.any()) {
    return fused_passes(softmax.fused, softmax.columns, forward ? 3 : 2, forward ? 2 : 1);
  }
  if (in_registers(softmax)) return {(forward ? 1.0 : 2.0) * left_by_mask(softmax), 1};
  if (forward) return {1, 1, 2, 3, 2};  // largest, sum, result
  return {2, 1, 1, 2, 1};               // sum, result
}

/// Passes in which reads and writes of 16 bits beside FP32 count half.
Passes passes_of(const Softmax& softmax) {
  Passes passes = passes_of_one_type(softmax);
  if (softmax.half_to_float && softmax.direction == Direction::Forward) {
    passes.reads /= 2;
    passes.again /= 2;
  } else if (softmax.half_to_float) {
    passes.writes /= 2;
  }
  return passes;
}

Passes passes_of(const LayerNorm& norm) {
  if (norm.fused.any()) return fused_passes(norm.fused, norm.columns, 2, 0);
  switch (norm.part) {
    case LayerNorm::Part::Forward:
      return {1, 1, 1, 2};  // moments, result
    case LayerNorm::Part::InputGradient:
      return {2, 1, 2, 2};  // two sums, result
    case LayerNorm::Part::ParameterGradient:
      return {2, 0};
  }
  return {1, 1};
}

Seconds over_rows(Bytes matrix, const Passes& passes, double fraction, const GpuSpec& gpu) {
  return time_to_move(streamed(matrix * passes.reads, matrix * passes.writes, fraction), gpu);
}

Seconds softmax_time(const Softmax& softmax, Bytes element, const GpuSpec& gpu) {
  const auto vector = std::max<std::int64_t>(1, static_cast<std::int64_t>(kVector / element));
  const std::int64_t threads = threads_of_softmax(softmax.columns, vector);
  const Rows rows{static_cast<double>(softmax.rows), element * static_cast<double>(softmax.columns),
                  static_cast<double>(threads)};
  const Bytes matrix = rows.size * rows.count;
  Passes passes = passes_of(softmax);
  if (in_registers(softmax)) {
    const double elements = rows.count * static_cast<double>(softmax.columns) * left_by_mask(softmax);
    const Seconds issue =
        softmax.fused.any() ? Seconds{0} : time_to_issue(kInstructionsOfSoftmax * elements, gpu);
    return std::max(issue, over_rows(matrix, passes, gpu.efficiency->softmax, gpu));
  }
  const double level1 = missing_level1(rows, passes, gpu);
  const double level2 = missing_level2(rows, passes, gpu);
  const double again1 = passes.again * (1 - level1), again2 = passes.again * level1 * (1 - level2);
  passes.reads += passes.again * level1 * level2;
  const Seconds move = over_rows(matrix, passes, gpu.efficiency->block_softmax, gpu);
  const double waves = std::max(1.0, rows.count / (gpu.sm_count * rows.resident(gpu)));
  const double at_once =
      std::min(rows.count * rows.threads, static_cast<double>(gpu.sm_count) * gpu.threads_per_sm);
  const Seconds vectors = kVector * at_once / gpu.l2_bandwidth;
  const Seconds from_level2 = std::max(kAgainFromLevel1, vectors * kAgainFromLevel2);
  const Seconds wait =
      (kSumOfABlock * passes.sums + (kAgainFromLevel1 * again1 + from_level2 * again2) *
                                        iterations_over_row(softmax.columns, threads, vector)) *
      waves;
  return move * std::pow(1 + std::pow(wait / move, kOverlap), 1 / kOverlap);
}

Seconds of_clocks(double clocks, const GpuSpec& gpu) {
  const double cores = static_cast<double>(gpu.sm_count) * gpu.cores_per_sm;
  return Flops{clocks * cores * kFlopsOfACore} / gpu.peak.fp32;
}

/// Time that PyTorch's own kernels take beside the bytes, all SMs busy as their grids have it.
Seconds arithmetic_of(const LayerNorm& norm, Bytes element, const GpuSpec& gpu) {
  const auto rows = static_cast<double>(norm.rows), columns = static_cast<double>(norm.columns);
  if (norm.part == LayerNorm::Part::ParameterGradient) {
    const double in_turn = std::ceil(columns / kColumnsOfABlock / gpu.sm_count);
    return of_clocks(rows * in_turn * (norm.rms ? kClocksOfABlocksRowRms : kClocksOfABlocksRow), gpu);
  }
  const bool is_wide = element > Bytes{2};
  const Clocks& moments = is_wide ? kWideMoments : kMoments;
  const Clocks& mean_square = is_wide ? kWideMeanSquare : kMeanSquare;
  const Clocks& each = norm.part == LayerNorm::Part::InputGradient ? kInputGradient
                       : norm.rms                                  ? mean_square
                                                                   : moments;
  return of_clocks(rows / gpu.sm_count * (each.row + each.element * columns), gpu);
}

Seconds layer_norm_time(const LayerNorm& norm, Bytes element, const GpuSpec& gpu) {
  const Rows rows{static_cast<double>(norm.rows), element * static_cast<double>(norm.columns),
                  kThreadsOfALayerNorm};
  Passes passes = passes_of(norm);
  passes.reads += passes.again * missing_level2(rows, passes, gpu);
  const Seconds move = over_rows(rows.size * rows.count, passes, gpu.efficiency->layer_norm, gpu);
  if (norm.fused.any() || norm.instructions > 0) {
    return std::max(move,
                    time_to_issue(norm.instructions * rows.count * static_cast<double>(norm.columns), gpu));
  }
  const double hides = norm.part == LayerNorm::Part::Forward         ? kForwardHides
                       : norm.part == LayerNorm::Part::InputGradient ? kInputGradientHides
                                                                     : kParameterGradientHides;
  return move * std::pow(1 + std::pow(arithmetic_of(norm, element, gpu) / move, hides), 1 / hides);
}

Seconds batch_norm_time(const BatchNorm& norm, Bytes element, const GpuSpec& gpu) {
  const bool forward = norm.direction == Direction::Forward;
  const Passes passes = norm.own && forward ? Passes{1, 0} : Passes{forward ? 2.0 : 4.0, 1};
  const double occupied =
      norm.channels_last ? 1 : std::min(1.0, static_cast<double>(norm.channels) / gpu.sm_count);
  const auto elements = static_cast<double>(norm.batch * norm.pixels) * static_cast<double>(norm.channels);
  const Seconds move = over_rows(element * elements, passes, gpu.efficiency->batch_norm * occupied, gpu);
  if (norm.channels_last) {
    return move;
  }
  const Issued& issued =
      norm.own ? (forward ? kOwnStatistics : kOwnBackward) : (forward ? kForwardIssued : kBackwardIssued);
  const double each_clock =
      std::min(static_cast<double>(norm.channels) * issued.by_block, gpu.sm_count * issued.by_sm);
  const double cores = static_cast<double>(gpu.sm_count) * gpu.cores_per_sm;
  const Seconds issue = Flops{elements / each_clock * (kFlopsOfACore * cores)} / gpu.peak.fp32;
  return std::max(move, issue);
}

}  // namespace

std::string NormalisationModel::name() const {
  return "normalisation: streamed rows";
}

Prediction NormalisationModel::predict(const KernelCall& call, const GpuSpec& gpu) const {
  const Bytes element = size_of(call.type);
  if (const auto* softmax = std::get_if<Softmax>(&call.work)) {
    return make_prediction(gpu.kernel_minimum + softmax_time(*softmax, element, gpu), 0.2,
                           provenance_of(gpu, in_registers(*softmax) ? "softmax" : "block_softmax"),
                           softmax->columns <= kLongestRow);
  }
  if (const auto* norm = std::get_if<BatchNorm>(&call.work)) {
    return make_prediction(gpu.kernel_minimum + batch_norm_time(*norm, element, gpu), 0.2,
                           provenance_of(gpu, "batch_norm"));
  }
  const auto& norm = std::get<LayerNorm>(call.work);
  return make_prediction(gpu.kernel_minimum + layer_norm_time(norm, element, gpu), 0.2,
                         provenance_of(gpu, "layer_norm"), norm.columns <= kLongestRow);
}

}  // namespace lockstep
