#include "ops/workload/layers/mlp.hpp"

#include "ops/workload/layers/kernels.hpp"
#include "ops/workload/layers/linear.hpp"

namespace lockstep {
namespace {

LinearShape layer_of(const MlpShape& mlp, std::size_t layer) {
  return {.rows = mlp.rows, .in = mlp.widths[layer], .out = mlp.widths[layer + 1]};
}

bool is_last(const MlpShape& mlp, std::size_t layer) {
  return layer + 2 == mlp.widths.size();
}

MlpActivation activation_of(const MlpShape& mlp, std::size_t layer) {
  return is_last(mlp, layer) ? mlp.last : MlpActivation::Relu;
}

void activation_forward(StepWriter& step, MlpActivation activation, std::int64_t elements, DataType type) {
  if (activation == MlpActivation::Relu) {
    step.op("aten::relu", {kernels::elementwise("relu", elements, type, {})});
  } else if (activation == MlpActivation::Sigmoid) {
    step.op("aten::sigmoid", {kernels::elementwise("sigmoid", elements, type, {.flops = 4})});
  }
}

void activation_backward(StepWriter& step, MlpActivation activation, std::int64_t elements, DataType type) {
  if (activation == MlpActivation::Relu) {
    step.op("ReluBackward0", {kernels::elementwise("threshold_backward", elements, type, {.reads = 2})});
  } else if (activation == MlpActivation::Sigmoid) {
    step.op("SigmoidBackward0",
            {kernels::elementwise("sigmoid_backward", elements, type, {.reads = 2, .flops = 2})});
  }
}

}  // namespace

void mlp_forward(StepWriter& step, const MlpShape& mlp) {
  for (std::size_t layer = 0; layer + 1 < mlp.widths.size(); ++layer) {
    linear_forward(step, layer_of(mlp, layer), layer == 0 && mlp.cast_input);
    activation_forward(step, activation_of(mlp, layer), mlp.rows * mlp.widths[layer + 1],
                       storage_type(step.precision()));
  }
}

void mlp_backward(StepWriter& step, const MlpShape& mlp, GradientSink& gradients, bool input_gradient) {
  for (std::size_t layer = mlp.widths.size() - 1; layer-- > 0;) {
    activation_backward(step, activation_of(mlp, layer), mlp.rows * mlp.widths[layer + 1],
                        storage_type(step.precision()));
    linear_backward(step, layer_of(mlp, layer), gradients, layer > 0 || input_gradient,
                    layer == 0 && mlp.cast_input);
  }
}

std::vector<std::int64_t> parameters_of(const MlpShape& mlp) {
  std::vector<std::int64_t> parameters;
  for (std::size_t layer = 0; layer + 1 < mlp.widths.size(); ++layer) {
    parameters.push_back(mlp.widths[layer] * mlp.widths[layer + 1]);
    parameters.push_back(mlp.widths[layer + 1]);
  }
  return parameters;
}

}  // namespace lockstep
