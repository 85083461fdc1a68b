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
  const Bytes bytes = size_of(call.type) * (elements * (work.reads + work.writes));
  const Seconds compute = Flops{elements * work.flops} / gpu.peak.fp32;
  return answer(gpu.kernel_minimum + std::max(compute, time_to_move({bytes, bytes}, gpu)), 0.15, gpu);
}

}  // namespace lockstep
