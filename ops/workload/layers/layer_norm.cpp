#include "ops/workload/layers/layer_norm.hpp"

#include "ops/workload/layers/kernels.hpp"

namespace lockstep {
namespace {

KernelCall kernel(const char* name, std::int64_t rows, std::int64_t columns, LayerNorm::Part part) {
  return {name, DataType::FP32, LayerNorm{.rows = rows, .columns = columns, .part = part}};
}

}  // namespace

void layer_norm_forward(StepWriter& step, std::int64_t rows, std::int64_t columns) {
  step.op("aten::layer_norm",
          {kernel("vectorized_layer_norm_kernel", rows, columns, LayerNorm::Part::Forward)});
}

void layer_norm_backward(StepWriter& step, std::int64_t rows, std::int64_t columns, GradientSink& gradients,
                         int other_gradients) {
  step.op("NativeLayerNormBackward0",
          {kernel("layer_norm_grad_input_kernel", rows, columns, LayerNorm::Part::InputGradient),
           kernel("GammaBetaBackwardCUDAKernel", rows, columns, LayerNorm::Part::ParameterGradient)});
  for (int other = 0; other < other_gradients; ++other) {
    step.op("aten::add_", {kernels::add(rows * columns, DataType::FP32)});
  }
  gradients.accumulate(columns);  // gain
  gradients.accumulate(columns);  // bias
}

}  // namespace lockstep
