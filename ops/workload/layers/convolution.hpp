#pragma once

#include "ops/workload/cnn_layers.hpp"
#include "ops/workload/gradient_sink.hpp"
#include "ops/workload/step_writer.hpp"

namespace lockstep {

/// One layer of a branch: for each filter convolution, batch norm in training mode (a count of batches is
/// kept) and ReLU in place, the parts concatenated when there are several; or a pool.
void cnn_layer_forward(StepWriter& step, const ShapedLayer& layer);

/// Back through it: gradients of gain and bias, of the input when @p input_gradient, of the filters; filters
/// of one layer in reverse, their input gradients added.
void cnn_layer_backward(StepWriter& step, const ShapedLayer& layer, GradientSink& gradients,
                        bool input_gradient);

/// ReLU's gradient over @p elements.
void relu_backward(StepWriter& step, std::int64_t elements);

}  // namespace lockstep
