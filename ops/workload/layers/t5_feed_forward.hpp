#pragma once

#include <cstdint>

#include "ops/workload/gradient_sink.hpp"
#include "ops/workload/step_writer.hpp"

namespace lockstep {

/// T5DenseActDense (ReLU between two products) and T5DenseGatedActDense (gelu_new of one product times
/// another), without biases.
struct T5FeedForwardShape {
  std::int64_t rows = 0, hidden = 0, width = 0;
  bool gated = false, dropout = true;

  [[nodiscard]] std::int64_t inner() const { return rows * width; }
};

/// *Source*: transformers v4.38, models/t5/modeling_t5.py. Its cast to the second weight's type makes FP32 of
/// autocast's 16 bits, which autocast casts back before the product.
/// @param shape with at least one row
void t5_feed_forward_forward(StepWriter& step, const T5FeedForwardShape& shape);
void t5_feed_forward_backward(StepWriter& step, const T5FeedForwardShape& shape, GradientSink& gradients);

}  // namespace lockstep
