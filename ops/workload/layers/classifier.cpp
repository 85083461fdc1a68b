#include "ops/workload/layers/classifier.hpp"

#include "ops/workload/layers/dropout.hpp"
#include "ops/workload/layers/kernels.hpp"
#include "ops/workload/layers/linear.hpp"

namespace lockstep {

void classifier_forward(StepWriter& step, const BlockShape& shape, std::int64_t classes) {
  const std::int64_t pooled = shape.batch * shape.hidden;
  const DataType type = storage_type(step.precision());
  step.op("aten::select");
  linear_forward(step, {.rows = shape.batch, .in = shape.hidden, .out = shape.hidden}, true);
  step.op("aten::tanh", {kernels::elementwise("tanh", pooled, type, {})});
  if (shape.dropout) {
    dropout_forward(step, pooled, type);
  }
  linear_forward(step, {.rows = shape.batch, .in = shape.hidden, .out = classes});
}

void classifier_backward(StepWriter& step, const BlockShape& shape, std::int64_t classes,
                         GradientSink& gradients) {
  const std::int64_t pooled = shape.batch * shape.hidden;
  const DataType type = storage_type(step.precision());
  linear_backward(step, {.rows = shape.batch, .in = shape.hidden, .out = classes}, gradients, true);
  if (shape.dropout) {
    dropout_backward(step, pooled, type);
  }
  step.op("TanhBackward0", {kernels::elementwise("tanh_backward", pooled, type, {.reads = 2})});
  linear_backward(step, {.rows = shape.batch, .in = shape.hidden, .out = shape.hidden}, gradients, true,
                  true);
  step.op("SelectBackward0", {kernels::fill(shape.elements(), step.types().model()),
                              kernels::strided_copy(pooled, step.types().model())});
}

}  // namespace lockstep
