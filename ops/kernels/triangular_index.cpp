#include "ops/kernels/triangular_index.hpp"

#include "ops/kernels/make_prediction.hpp"
#include "ops/kernels/traffic.hpp"

namespace lockstep {
namespace {

constexpr Seconds kScatterLatency{2.3e-6};  // see the class
constexpr double kResidentWarps = 64;  // of an SM, compute capability 6.0 to 9.0 (CUDA Programming Guide)

}  // namespace

std::string TriangularIndexModel::name() const {
  return "triangular index: gathered roofline";
}

Prediction TriangularIndexModel::predict(const KernelCall& call, const GpuSpec& gpu) const {
  const auto& work = std::get<TriangularIndex>(call.work);
  const auto n = static_cast<double>(work.n), batch = static_cast<double>(work.batch);
  const double picks = batch * (n * (n - 1) / 2 + (work.diagonal ? n : 0));
  const bool in_range = work.n >= 2 && work.n <= 256;
  if (work.direction == Direction::Backward) {
    const Seconds waiting = kScatterLatency * (picks / (kResidentWarps * gpu.sm_count));
    return make_prediction(gpu.kernel_minimum + waiting, 0.3, provenance_of(gpu, "gather_latency"), in_range);
  }
  const Bytes element = size_of(call.type);
  const Traffic traffic = streamed(element * (batch * n * n), element * picks);
  return make_prediction(gpu.efficiency->gather_latency + time_to_move(traffic, gpu), 0.3,
                         provenance_of(gpu, "gather_latency"), in_range);
}

}  // namespace lockstep
