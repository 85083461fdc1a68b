#include "ops/kernels/normalisation.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "ops/kernels/answer.hpp"
#include "ops/kernels/traffic.hpp"

namespace lockstep {
namespace {

constexpr std::int64_t kLongestRow = 65536;
constexpr std::int64_t kRowOfAWarp = 1024;  // elements: softmax_warp_forward holds it in registers
constexpr double kThreadsOfAnSm = 2048;
constexpr double kThreadsOfALayerNorm = 128;  // vectorized_layer_norm_kernel: four warps
constexpr double kOperationsOfLayerNorm =
    80;  // per element; A100: 244e9 elements/s of 16 bits (vidur, phi-2)
constexpr std::int64_t kElementsOfAThread = 4;  // cunn_SoftMaxForward: 16 bytes at a time
constexpr std::int64_t kLargestBlock = 512;
constexpr double kCrowding = 1.5;  // of the cache by what else passes through it, above all what is written

/// Reads and writes of the matrix; `again` are reads of rows that were read just before.
struct Passes {
  double reads, writes, again = 0;
};

/// A matrix that blocks go through, a row each at a time.
struct Rows {
  double count;
  Bytes size;      ///< of a row
  double threads;  ///< of a block
};

/// Part of the rows in flight that are no longer in the level-2 cache when they are read again. What is
/// written passes through it, too.
double missing(const Rows& rows, const GpuSpec& gpu) {
  const double in_flight = std::min(rows.count, gpu.sm_count * std::floor(kThreadsOfAnSm / rows.threads));
  return 1 - std::clamp(1.5 - kCrowding * in_flight * rows.size / gpu.l2_size, 0.0, 1.0);
}

Passes with_misses(Passes passes, const Rows& rows, const GpuSpec& gpu) {
  passes.reads += passes.again * missing(rows, gpu);
  return passes;
}

/// SoftMax_getBlockSize: a power of two, at least half a thread for each four elements.
double threads_of_softmax(std::int64_t columns) {
  const std::int64_t half = std::clamp<std::int64_t>(columns / kElementsOfAThread / 2, 32, kLargestBlock);
  return static_cast<double>(std::bit_ceil(static_cast<std::uint64_t>(half)));
}

Passes passes_of(const Softmax& softmax) {
  const bool in_registers = softmax.columns <= kRowOfAWarp;
  if (softmax.direction == Direction::Forward)
    return {1, 1, in_registers ? 0.0 : 2.0};  // largest, sum, result
  return {2, 1, in_registers ? 0.0 : 2.0};    // sum, result
}

Passes passes_of(LayerNorm::Part part) {
  switch (part) {
    case LayerNorm::Part::Forward:
      return {1, 1, 1};  // moments, result
    case LayerNorm::Part::InputGradient:
      return {2, 1, 2};  // two sums, result
    case LayerNorm::Part::ParameterGradient:
      return {2, 0};
  }
  return {1, 1};
}

Seconds over_rows(Bytes matrix, Passes passes, double fraction, const GpuSpec& gpu, Seconds arithmetic = {}) {
  const Traffic traffic = streamed(matrix * passes.reads, matrix * passes.writes, fraction);
  return gpu.kernel_minimum + std::max(arithmetic, time_to_move(traffic, gpu));
}

}  // namespace

std::string NormalisationModel::name() const {
  return "normalisation: streamed rows";
}

Prediction NormalisationModel::predict(const KernelCall& call, const GpuSpec& gpu) const {
  const auto rows = [&](std::int64_t count, std::int64_t columns, double threads) {
    return Rows{static_cast<double>(count), size_of(call.type) * static_cast<double>(columns), threads};
  };
  if (const auto* softmax = std::get_if<Softmax>(&call.work)) {
    const Rows of = rows(softmax->rows, softmax->columns, threads_of_softmax(softmax->columns));
    return answer(over_rows(of.count * of.size, with_misses(passes_of(*softmax), of, gpu),
                            gpu.efficiency->softmax, gpu),
                  0.2, provenance_of(gpu, "softmax"), softmax->columns <= kLongestRow);
  }
  if (const auto* norm = std::get_if<BatchNorm>(&call.work)) {
    const Passes passes{norm->direction == Direction::Forward ? 2.0 : 4.0, 1};
    const double occupied = std::min(1.0, static_cast<double>(norm->channels) / gpu.sm_count);
    const auto elements =
        static_cast<double>(norm->batch * norm->pixels) * static_cast<double>(norm->channels);
    return answer(
        over_rows(size_of(call.type) * elements, passes, gpu.efficiency->batch_norm * occupied, gpu), 0.2,
        provenance_of(gpu, "batch_norm"));
  }
  const auto& norm = std::get<LayerNorm>(call.work);
  const Rows of = rows(norm.rows, norm.columns, kThreadsOfALayerNorm);
  const double elements = of.count * static_cast<double>(norm.columns);
  return answer(
      over_rows(of.count * of.size, with_misses(passes_of(norm.part), of, gpu), gpu.efficiency->layer_norm,
                gpu, Flops{kOperationsOfLayerNorm * elements} / gpu.peak.fp32),
      0.2, provenance_of(gpu, "layer_norm"), norm.columns <= kLongestRow);
}

}  // namespace lockstep
