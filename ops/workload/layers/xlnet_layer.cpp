#include "ops/workload/layers/xlnet_layer.hpp"

#include "ops/workload/layers/dropout.hpp"
#include "ops/workload/layers/gelu.hpp"
#include "ops/workload/layers/kernels.hpp"
#include "ops/workload/layers/layer_norm.hpp"
#include "ops/workload/layers/linear.hpp"
#include "ops/workload/layers/transformer_block.hpp"

namespace lockstep {
namespace {

LinearShape first(const XlnetLayerShape& shape) {
  return {.rows = shape.attention.rows(), .in = shape.attention.hidden, .out = shape.feed_forward};
}

LinearShape second(const XlnetLayerShape& shape) {
  return {.rows = shape.attention.rows(), .in = shape.feed_forward, .out = shape.attention.hidden};
}

void feed_forward_forward(StepWriter& step, const XlnetLayerShape& shape) {
  const DataType type = storage_type(step.precision());
  linear_forward(step, first(shape), true);
  gelu_forward(step, Gelu::Fused, shape.inner());
  if (shape.attention.dropout) {
    dropout_forward(step, shape.inner(), type);
  }
  linear_forward(step, second(shape));
  if (shape.attention.dropout) {
    dropout_forward(step, shape.attention.elements(), type);
  }
  residual_add_forward(step, shape.attention.elements());
  layer_norm_forward(step, shape.attention.rows(), shape.attention.hidden);
}

void feed_forward_backward(StepWriter& step, const XlnetLayerShape& shape, GradientSink& gradients) {
  const DataType type = storage_type(step.precision());
  layer_norm_backward(step, shape.attention.rows(), shape.attention.hidden, gradients, 0);
  residual_add_backward(step, shape.attention.elements());
  if (shape.attention.dropout) {
    dropout_backward(step, shape.attention.elements(), type);
  }
  linear_backward(step, second(shape), gradients, true);
  if (shape.attention.dropout) {
    dropout_backward(step, shape.inner(), type);
  }
  gelu_backward(step, Gelu::Fused, shape.inner());
  linear_backward(step, first(shape), gradients, true, true);
  step.op("aten::add", {kernels::add(shape.attention.elements(), step.types().model())});  // the residual's
}

}  // namespace

void xlnet_layer_forward(StepWriter& step, const XlnetLayerShape& shape) {
  {
    const ModuleRange module{step, "attention"};
    xlnet_attention_forward(step, shape.attention);
  }
  const ModuleRange module{step, "mlp"};
  feed_forward_forward(step, shape);
}

void xlnet_layer_backward(StepWriter& step, const XlnetLayerShape& shape, GradientSink& gradients) {
  feed_forward_backward(step, shape, gradients);
  xlnet_attention_backward(step, shape.attention, gradients);
}

std::vector<std::int64_t> parameters_of(const XlnetLayerShape& shape) {
  const std::int64_t h = shape.attention.hidden, f = shape.feed_forward;
  std::vector<std::int64_t> all(5, h * h);  // q, k, v, o, r
  if (shape.attention.segments) {
    all.insert(all.end(), {h, h, h, 2 * h});  // r_r_bias, r_s_bias, r_w_bias, seg_embed
  } else {
    all.insert(all.end(), {h, h});
  }
  all.insert(all.end(), {h, h, h, h, h * f, f, f * h, h});  // norms, feed-forward
  return all;
}

}  // namespace lockstep
