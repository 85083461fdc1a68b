#include "ops/kernels/normalisation.hpp"

#include "ops/kernels/answer.hpp"
#include "ops/kernels/traffic.hpp"

namespace lockstep {
namespace {

constexpr std::int64_t kLongestRow = 65536;

struct Passes {
  double reads, writes;
};

Passes passes_of(LayerNorm::Part part) {
  switch (part) {
    case LayerNorm::Part::Forward:
      return {1, 1};
    case LayerNorm::Part::InputGradient:
      return {2, 1};
    case LayerNorm::Part::ParameterGradient:
      return {2, 0};
  }
  return {1, 1};
}

Seconds over_rows(Bytes matrix, Passes passes, double fraction, const GpuSpec& gpu) {
  const Traffic traffic = streamed(matrix * passes.reads, matrix * passes.writes, fraction);
  return gpu.kernel_minimum + time_to_move(traffic, gpu);
}

}  // namespace

std::string NormalisationModel::name() const {
  return "normalisation: streamed rows";
}

Prediction NormalisationModel::predict(const KernelCall& call, const GpuSpec& gpu) const {
  const auto matrix = [&](std::int64_t rows, std::int64_t columns) {
    return size_of(call.type) * (static_cast<double>(rows) * static_cast<double>(columns));
  };
  if (const auto* softmax = std::get_if<Softmax>(&call.work)) {
    const Passes passes{softmax->direction == Direction::Forward ? 1.0 : 2.0, 1};
    return answer(over_rows(matrix(softmax->rows, softmax->columns), passes, gpu.efficiency->softmax, gpu),
                  0.2, provenance_of(gpu, "softmax"), softmax->columns <= kLongestRow);
  }
  const auto& norm = std::get<LayerNorm>(call.work);
  return answer(
      over_rows(matrix(norm.rows, norm.columns), passes_of(norm.part), gpu.efficiency->layer_norm, gpu), 0.2,
      provenance_of(gpu, "layer_norm"), norm.columns <= kLongestRow);
}

}  // namespace lockstep
