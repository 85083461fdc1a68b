#include "ops/kernels/normalisation.hpp"

#include "ops/kernels/answer.hpp"
#include "ops/kernels/traffic.hpp"

namespace lockstep {
namespace {

constexpr std::int64_t kLongestRow = 65536;

Prediction passes(double rows, double columns, double tensors, const KernelCall& call, const GpuSpec& gpu) {
  const Bytes bytes = size_of(call.type) * (rows * columns * tensors);
  return answer(gpu.kernel_minimum + time_to_move({bytes, bytes}, gpu), 0.2, gpu, columns <= kLongestRow);
}

}  // namespace

std::string NormalisationModel::name() const {
  return "normalisation: streamed rows";
}

Prediction NormalisationModel::predict(const KernelCall& call, const GpuSpec& gpu) const {
  if (const auto* softmax = std::get_if<Softmax>(&call.work)) {
    const double tensors = softmax->direction == Direction::Forward ? 2 : 3;
    return passes(static_cast<double>(softmax->rows), static_cast<double>(softmax->columns), tensors, call,
                  gpu);
  }
  const auto& norm = std::get<LayerNorm>(call.work);
  const double tensors = norm.part == LayerNorm::Part::InputGradient ? 3 : 2;
  return passes(static_cast<double>(norm.rows), static_cast<double>(norm.columns), tensors, call, gpu);
}

}  // namespace lockstep
