#include "ops/kernels/optimizer.hpp"

#include <algorithm>
#include <cmath>

#include "ops/kernels/make_prediction.hpp"
#include "ops/kernels/traffic.hpp"

namespace lockstep {
namespace {

constexpr double kManyTensors = 0.87;  // of streaming, see the header
constexpr double kChunk = 65536;       // elements of a block (kChunkSize of MultiTensorApply.cuh)
constexpr double kAtOnce = 2048;       // of them: four for each of 512 threads (kILP, kBlockSize)
constexpr Seconds kWait{0.64e-6};      // until four have come
constexpr double kInstructions = 3.3;  // for a flop, with conversions and addresses
constexpr double kLongUpdate = 10;     // flops whose values leave registers for half as many blocks on an SM
constexpr double kHides = 3;           // memory and what blocks wait for; 1: they follow each other

/// Time that blocks of a kernel over many tensors take by themselves, round after round.
Seconds time_of_chunks(const OptimizerUpdate& work, const GpuSpec& gpu) {
  const auto parameters = static_cast<double>(work.parameters);
  const double chunk = std::min(kChunk, parameters / static_cast<double>(work.tensors));
  const double on_an_sm = work.flops < kLongUpdate ? 4 : 2;
  const double rounds = std::ceil(parameters / chunk / (on_an_sm * gpu.sm_count));
  return kWait * (rounds * chunk / kAtOnce) + time_to_issue(parameters * work.flops * kInstructions, gpu);
}

}  // namespace

std::string OptimizerModel::name() const {
  return "optimizer: streamed passes";
}

Prediction OptimizerModel::predict(const KernelCall& call, const GpuSpec& gpu) const {
  const auto& work = std::get<OptimizerUpdate>(call.work);
  const auto parameters = static_cast<double>(work.parameters);
  const Bytes tensor = size_of(call.type) * parameters;
  const Seconds compute = Flops{parameters * work.flops} / gpu.peak.fp32;
  const double fraction = work.tensors > 1 ? kManyTensors : 1;
  const Seconds memory = time_to_move(streamed(tensor * work.reads, tensor * work.writes, fraction), gpu);
  Seconds busy = std::max(compute, memory);
  if (work.tensors > 1) {
    const double moving = memory / Seconds{1}, waiting = time_of_chunks(work, gpu) / Seconds{1};
    busy = Seconds{std::pow(std::pow(moving, kHides) + std::pow(waiting, kHides), 1 / kHides)};
  }
  return make_prediction(gpu.kernel_minimum + busy, 0.2, provenance_of(gpu, "memory"));
}

}  // namespace lockstep
