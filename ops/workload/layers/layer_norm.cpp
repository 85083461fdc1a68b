#include "ops/workload/layers/layer_norm.hpp"

#include "ops/workload/layers/kernels.hpp"

namespace lockstep {
namespace {

/// The kernels of a pass, and what they issue where that is not PyTorch's.
struct Kernels {
  const char* name;
  double instructions;
};

KernelCall kernel(const StepWriter& step, const Kernels& of, std::int64_t rows, std::int64_t columns,
                  LayerNorm::Part part) {
  return {of.name, step.types().model(),
          LayerNorm{.rows = rows, .columns = columns, .part = part, .instructions = of.instructions}};
}

}  // namespace

void layer_norm_forward(StepWriter& step, std::int64_t rows, std::int64_t columns) {
  const bool apex = step.framework().apex;
  const Kernels forward = apex ? Kernels{"cuApplyLayerNorm", 57} : Kernels{"vectorized_layer_norm_kernel", 0};
  step.op("aten::layer_norm", {kernel(step, forward, rows, columns, LayerNorm::Part::Forward)});
}

void layer_norm_backward(StepWriter& step, std::int64_t rows, std::int64_t columns, GradientSink& gradients,
                         int other_gradients) {
  const bool apex = step.framework().apex;
  const Kernels input = apex ? Kernels{"cuComputeGradInput", 80} : Kernels{"layer_norm_grad_input_kernel", 0};
  const Kernels gain =
      apex ? Kernels{"cuComputePartGradGammaBeta", 53} : Kernels{"GammaBetaBackwardCUDAKernel", 0};
  step.op("NativeLayerNormBackward0",
          {kernel(step, input, rows, columns, LayerNorm::Part::InputGradient),
           kernel(step, gain, rows, columns, LayerNorm::Part::ParameterGradient)});
  for (int other = 0; other < other_gradients; ++other) {
    step.op("aten::add_", {kernels::add(rows * columns, step.types().model())});
  }
  gradients.accumulate(columns);  // gain
  gradients.accumulate(columns);  // bias
}

}  // namespace lockstep
