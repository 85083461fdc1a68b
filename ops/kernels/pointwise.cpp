#include "ops/kernels/pointwise.hpp"

#include <algorithm>

#include "ops/kernels/answer.hpp"
#include "ops/kernels/traffic.hpp"

namespace lockstep {
namespace {

constexpr double kIssuedEachClock = 4 * 32;  // instructions of threads, by an SM
constexpr double kReached = 0.65;            // of that; see the header
constexpr double kFlopsOfACore = 2;          // each clock

Seconds time_to_issue(double instructions, const GpuSpec& gpu) {
  const double of_peak = kIssuedEachClock / (kFlopsOfACore * gpu.cores_per_sm);  // instructions by flop
  return Flops{instructions} / (gpu.peak.fp32 * (of_peak * kReached));
}

}  // namespace

std::string PointwiseModel::name() const {
  return "pointwise: roofline";
}

Prediction PointwiseModel::predict(const KernelCall& call, const GpuSpec& gpu) const {
  const auto& work = std::get<Pointwise>(call.work);
  const auto elements = static_cast<double>(work.elements);
  const Bytes tensor = size_of(call.type) * elements;
  const Seconds compute = Flops{elements * work.flops} / gpu.peak.fp32;
  const Seconds memory = time_to_move(streamed(tensor * work.reads, tensor * work.writes), gpu);
  return answer(
      gpu.kernel_minimum + std::max({compute, memory, time_to_issue(elements * work.instructions, gpu)}),
      0.15, provenance_of(gpu, "memory"));
}

}  // namespace lockstep
