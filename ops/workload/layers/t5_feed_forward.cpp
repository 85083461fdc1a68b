#include "ops/workload/layers/t5_feed_forward.hpp"

#include "ops/workload/layers/cast.hpp"
#include "ops/workload/layers/dropout.hpp"
#include "ops/workload/layers/gelu.hpp"
#include "ops/workload/layers/kernels.hpp"
#include "ops/workload/layers/linear.hpp"

namespace lockstep {
namespace {

LinearShape into(const T5FeedForwardShape& shape) {
  return {.rows = shape.rows, .in = shape.hidden, .out = shape.width, .bias = false};
}

LinearShape out_of(const T5FeedForwardShape& shape) {
  return {.rows = shape.rows, .in = shape.width, .out = shape.hidden, .bias = false};
}

/// Type of what is dropped: gelu_new under autocast, and so its product, is in FP32.
DataType inner_type(const StepWriter& step, const T5FeedForwardShape& shape) {
  return shape.gated ? step.types().model() : storage_type(step.precision());
}

/// One factor is a product's result, the other GELU's.
KernelCall gate(const StepWriter& step, const T5FeedForwardShape& shape) {
  const DataType type = step.types().model();
  const double narrow = size_of(storage_type(step.precision())) / size_of(type);
  return kernels::elementwise("mul", shape.inner(), type, {.reads = 1 + narrow});
}

}  // namespace

void t5_feed_forward_forward(StepWriter& step, const T5FeedForwardShape& shape) {
  const DataType storage = storage_type(step.precision());
  linear_forward(step, into(shape), true);
  if (shape.gated) {
    gelu_forward(step, Gelu::Composed, shape.inner());
    linear_forward(step, into(shape), true);
    step.op("aten::mul", {gate(step, shape)});
  } else {
    step.op("aten::relu", {kernels::elementwise("relu", shape.inner(), storage, {})});
  }
  if (shape.dropout) {
    dropout_forward(step, shape.inner(), inner_type(step, shape));
  }
  if (step.types().casts() && !shape.gated) {
    step.op("aten::to", {kernels::cast(step, shape.inner(), storage, DataType::FP32)});
  }
  linear_forward(step, out_of(shape), true);
}

void t5_feed_forward_backward(StepWriter& step, const T5FeedForwardShape& shape, GradientSink& gradients) {
  const DataType storage = storage_type(step.precision());
  linear_backward(step, out_of(shape), gradients, true, true);
  if (step.types().casts() && !shape.gated) {
    step.op("ToCopyBackward0", {kernels::cast(step, shape.inner(), DataType::FP32, storage)});
  }
  if (shape.dropout) {
    dropout_backward(step, shape.inner(), inner_type(step, shape));
  }
  if (!shape.gated) {
    step.op("ReluBackward0",
            {kernels::elementwise("threshold_backward", shape.inner(), storage, {.reads = 2})});
    linear_backward(step, into(shape), gradients, true, true);
    return;
  }
  step.op("MulBackward0", {gate(step, shape), gate(step, shape)});
  linear_backward(step, into(shape), gradients, true, true);
  gelu_backward(step, Gelu::Composed, shape.inner());
  linear_backward(step, into(shape), gradients, true, true);
  step.op("aten::add_", {kernels::add(shape.rows * shape.hidden, step.types().model())});
}

}  // namespace lockstep
