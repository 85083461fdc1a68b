#include "ops/kernels/pointwise.hpp"

#include <algorithm>
#include <cmath>

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
  const Seconds issue = std::max(compute, time_to_issue(elements * work.instructions, gpu));
  const Seconds busy =
      work.in_step ? Seconds{std::hypot(memory / Seconds{1}, issue / Seconds{1})} : std::max(memory, issue);
  return answer(gpu.kernel_minimum + busy, 0.15, provenance_of(gpu, "memory"));
}

}  // namespace lockstep
