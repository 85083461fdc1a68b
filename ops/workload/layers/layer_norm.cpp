#include "ops/workload/layers/layer_norm.hpp"

#include "ops/workload/layers/kernels.hpp"

namespace lockstep {
namespace {

KernelCall kernel(const StepWriter& step, const char* name, std::int64_t rows, std::int64_t columns,
                  LayerNorm::Part part) {
  return {name, step.types().model(), LayerNorm{.rows = rows, .columns = columns, .part = part}};
}

}  // namespace

void layer_norm_forward(StepWriter& step, std::int64_t rows, std::int64_t columns) {
  step.op("aten::layer_norm",
          {kernel(step, "vectorized_layer_norm_kernel", rows, columns, LayerNorm::Part::Forward)});
}

void layer_norm_backward(StepWriter& step, std::int64_t rows, std::int64_t columns, GradientSink& gradients,
                         int other_gradients) {
  step.op("NativeLayerNormBackward0",
          {kernel(step, "layer_norm_grad_input_kernel", rows, columns, LayerNorm::Part::InputGradient),
           kernel(step, "GammaBetaBackwardCUDAKernel", rows, columns, LayerNorm::Part::ParameterGradient)});
  for (int other = 0; other < other_gradients; ++other) {
    step.op("aten::add_", {kernels::add(rows * columns, step.types().model())});
  }
  gradients.accumulate(columns);  // gain
  gradients.accumulate(columns);  // bias
}

}  // namespace lockstep
