#include "ops/kernels/reduction.hpp"

#include "ops/kernels/answer.hpp"
#include "ops/kernels/traffic.hpp"

namespace lockstep {

std::string ReductionModel::name() const {
  return "reduction: roofline";
}

Prediction ReductionModel::predict(const KernelCall& call, const GpuSpec& gpu) const {
  const auto& work = std::get<Reduction>(call.work);
  const auto rows = static_cast<double>(work.rows), columns = static_cast<double>(work.columns);
  const Bytes bytes = size_of(call.type) * (rows * columns + (work.across_rows ? columns : rows));
  return answer(2 * gpu.kernel_minimum + time_to_move({bytes, bytes}, gpu), 0.25, gpu);
}

}  // namespace lockstep
