#include "ops/kernels/optimizer.hpp"

#include <algorithm>

#include "ops/kernels/answer.hpp"
#include "ops/kernels/traffic.hpp"

namespace lockstep {
namespace {

constexpr double kManyTensors = 0.87;  // of streaming, see the header

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
  return answer(gpu.kernel_minimum + std::max(compute, memory), 0.2, provenance_of(gpu, "memory"));
}

}  // namespace lockstep
