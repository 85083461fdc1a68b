#include "ops/workload/layers/layer_norm.hpp"

#include "ops/workload/layers/kernels.hpp"

namespace lockstep {
namespace {

/// The kernel of a pass, and what it issues where it is not PyTorch's.
struct Kernel {
  const char* name;
  double instructions;
};

KernelCall call(const Kernel& of, DataType type, std::int64_t rows, std::int64_t columns,
                LayerNorm::Part part) {
  return {of.name, type,
          LayerNorm{.rows = rows, .columns = columns, .part = part, .instructions = of.instructions}};
}

}  // namespace

KernelCall layer_norm_kernel(bool apex, DataType type, std::int64_t rows, std::int64_t columns) {
  const Kernel forward = apex ? Kernel{"cuApplyLayerNorm", 57} : Kernel{"vectorized_layer_norm_kernel", 0};
  return call(forward, type, rows, columns, LayerNorm::Part::Forward);
}

std::array<KernelCall, 2> layer_norm_gradient_kernels(bool apex, DataType type, std::int64_t rows,
                                                      std::int64_t columns) {
  const Kernel input = apex ? Kernel{"cuComputeGradInput", 80} : Kernel{"layer_norm_grad_input_kernel", 0};
  const Kernel gain =
      apex ? Kernel{"cuComputePartGradGammaBeta", 53} : Kernel{"GammaBetaBackwardCUDAKernel", 0};
  return {call(input, type, rows, columns, LayerNorm::Part::InputGradient),
          call(gain, type, rows, columns, LayerNorm::Part::ParameterGradient)};
}

void layer_norm_forward(StepWriter& step, std::int64_t rows, std::int64_t columns) {
  step.op("aten::layer_norm",
          {layer_norm_kernel(step.framework().apex, step.types().model(), rows, columns)});
}

void layer_norm_backward(StepWriter& step, std::int64_t rows, std::int64_t columns, GradientSink& gradients,
                         int other_gradients) {
  const auto [input, gain] =
      layer_norm_gradient_kernels(step.framework().apex, step.types().model(), rows, columns);
  if (gradients.trains()) {
    step.op("NativeLayerNormBackward0", {input, gain});
  } else {
    step.op("NativeLayerNormBackward0", {input});
  }
  for (int other = 0; other < other_gradients; ++other) {
    step.op("aten::add_", {kernels::add(rows * columns, step.types().model())});
  }
  gradients.accumulate(columns);  // gain
  gradients.accumulate(columns);  // bias
}

void layer_norm_parameters_backward(StepWriter& step, std::int64_t rows, std::int64_t columns,
                                    GradientSink& gradients) {
  step.op("NativeLayerNormBackward0",
          {layer_norm_gradient_kernels(step.framework().apex, step.types().model(), rows, columns)[1]});
  gradients.accumulate(columns);  // gain
  gradients.accumulate(columns);  // bias
}

}  // namespace lockstep
