#pragma once

#include <cstdint>
#include <vector>

#include "ops/workload/gradient_sink.hpp"
#include "ops/workload/step_writer.hpp"

namespace lockstep {

/// Behind a linear layer.
enum class MlpActivation : std::uint8_t { None, Relu, Sigmoid };

/// Linear layers with ReLU between them. `widths` begins with that of the input.
struct MlpShape {
  std::int64_t rows = 0;
  std::vector<std::int64_t> widths;
  MlpActivation last = MlpActivation::Relu;
  bool cast_input = true;  ///< with torch.autocast: the input is FP32
};

void mlp_forward(StepWriter& step, const MlpShape& mlp);

/// @param input_gradient whether the first layer's input needs a gradient
void mlp_backward(StepWriter& step, const MlpShape& mlp, GradientSink& gradients, bool input_gradient);

/// Elements of the parameters, weight and bias of each layer in turn.
[[nodiscard]] std::vector<std::int64_t> parameters_of(const MlpShape& mlp);

}  // namespace lockstep
