#include "ops/kernels/triangular_index.hpp"

#include "ops/kernels/answer.hpp"
#include "ops/kernels/traffic.hpp"

namespace lockstep {

std::string TriangularIndexModel::name() const {
  return "triangular index: gathered roofline";
}

Prediction TriangularIndexModel::predict(const KernelCall& call, const GpuSpec& gpu) const {
  const auto& work = std::get<TriangularIndex>(call.work);
  const auto n = static_cast<double>(work.n), batch = static_cast<double>(work.batch);
  const double picks = batch * (n * (n - 1) / 2 + (work.diagonal ? n : 0));
  const bool backward = work.direction == Direction::Backward;
  const double element = size_of(call.type) / Bytes{1};
  const Bytes bytes{element * (picks + batch * n * n * (backward ? 2 : 1))};
  const Seconds time = time_to_move({bytes, bytes, gpu.efficiency.random_rows}, gpu);
  return answer(gpu.kernel_minimum + time, 0.4, gpu, work.n >= 2 && work.n <= 256);
}

}  // namespace lockstep
