#include "ops/workload/layers/classifier.hpp"

#include "ops/workload/layers/dropout.hpp"
#include "ops/workload/layers/kernels.hpp"
#include "ops/workload/layers/linear.hpp"

namespace lockstep {

namespace {

void bert_forward(StepWriter& step, const BlockShape& shape, std::int64_t classes) {
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

void bert_backward(StepWriter& step, const BlockShape& shape, std::int64_t classes, GradientSink& gradients) {
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

LinearShape score(const BlockShape& shape, std::int64_t classes) {
  return {.rows = shape.rows(), .in = shape.hidden, .out = classes, .bias = false};
}

/// Where a sample ends is found from its padding: tokens that are none are counted.
void gpt_forward(StepWriter& step, const BlockShape& shape, std::int64_t classes) {
  linear_forward(step, score(shape, classes), true);
  step.op("aten::ne", {kernels::elementwise("ne", shape.rows(), DataType::INT64, {})});
  step.op("aten::sum",
          {kernels::reduce("sum", {.rows = shape.batch, .columns = shape.sequence}, DataType::INT64)});
  step.op("aten::sub", {kernels::scale(shape.batch, DataType::INT64)});
  step.op("aten::arange", {kernels::fill(shape.batch, DataType::INT64)});
  step.op("aten::index",
          {kernels::by_offsets("index", shape.batch * classes, storage_type(step.precision()), {})});
}

void gpt_backward(StepWriter& step, const BlockShape& shape, std::int64_t classes, GradientSink& gradients) {
  const DataType type = storage_type(step.precision());
  step.op("IndexBackward0", {kernels::fill(shape.rows() * classes, type),
                             kernels::by_offsets("index_put", shape.batch * classes, type, {.reads = 2})});
  linear_backward(step, score(shape, classes), gradients, true, true);
}

}  // namespace

void classifier_forward(StepWriter& step, const BlockShape& shape, std::int64_t classes) {
  (shape.kind == BlockKind::Bert ? bert_forward : gpt_forward)(step, shape, classes);
}

void classifier_backward(StepWriter& step, const BlockShape& shape, std::int64_t classes,
                         GradientSink& gradients) {
  (shape.kind == BlockKind::Bert ? bert_backward : gpt_backward)(step, shape, classes, gradients);
}

}  // namespace lockstep
