#include "ops/kernels/pointwise.hpp"

#include <algorithm>

#include "ops/kernels/answer.hpp"
#include "ops/kernels/traffic.hpp"

namespace lockstep {

std::string PointwiseModel::name() const {
  return "pointwise: roofline";
}

Prediction PointwiseModel::predict(const KernelCall& call, const GpuSpec& gpu) const {
  const auto& work = std::get<Pointwise>(call.work);
  const auto elements = static_cast<double>(work.elements);
  const Bytes tensor = size_of(call.type) * elements;
  const Seconds compute = Flops{elements * work.flops} / gpu.peak.fp32;
  const Seconds memory = time_to_move(streamed(tensor * work.reads, tensor * work.writes), gpu);
  return answer(gpu.kernel_minimum + std::max(compute, memory), 0.15, provenance_of(gpu, "memory"));
}

}  // namespace lockstep
