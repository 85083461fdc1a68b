#include "ops/workload/layers/classifier.hpp"

#include "ops/workload/layers/dropout.hpp"
#include "ops/workload/layers/kernels.hpp"
#include "ops/workload/layers/linear.hpp"

namespace lockstep {

namespace {

LinearShape of_tokens(const BlockShape& shape, const ClassifierShape& head) {
  return {.rows = shape.rows(), .in = shape.hidden, .out = head.classes};
}

void tokens_forward(StepWriter& step, const BlockShape& shape, const ClassifierShape& head) {
  if (shape.dropout) {
    dropout_forward(step, shape.elements(), step.types().model());
  }
  linear_forward(step, of_tokens(shape, head), true);
}

void tokens_backward(StepWriter& step, const BlockShape& shape, const ClassifierShape& head,
                     GradientSink& gradients) {
  linear_backward(step, of_tokens(shape, head), gradients, true, true);
  if (shape.dropout) {
    dropout_backward(step, shape.elements(), step.types().model());
  }
}

void bert_forward(StepWriter& step, const BlockShape& shape, const ClassifierShape& head) {
  const std::int64_t pooled = shape.batch * shape.hidden;
  const DataType type = storage_type(step.precision());
  step.op("aten::select");
  linear_forward(step, {.rows = shape.batch, .in = shape.hidden, .out = shape.hidden}, true);
  step.op("aten::tanh", {kernels::elementwise("tanh", pooled, type, {})});
  if (shape.dropout) {
    dropout_forward(step, pooled, type);
  }
  linear_forward(step, {.rows = shape.batch, .in = shape.hidden, .out = head.classes});
}

void bert_backward(StepWriter& step, const BlockShape& shape, const ClassifierShape& head,
                   GradientSink& gradients) {
  const std::int64_t pooled = shape.batch * shape.hidden;
  const DataType type = storage_type(step.precision());
  linear_backward(step, {.rows = shape.batch, .in = shape.hidden, .out = head.classes}, gradients, true);
  if (shape.dropout) {
    dropout_backward(step, pooled, type);
  }
  step.op("TanhBackward0", {kernels::elementwise("tanh_backward", pooled, type, {.reads = 2})});
  linear_backward(step, {.rows = shape.batch, .in = shape.hidden, .out = shape.hidden}, gradients, true,
                  true);
  step.op("SelectBackward0", {kernels::fill(shape.elements(), step.types().model()),
                              kernels::strided_copy(pooled, step.types().model())});
}

LinearShape score(const BlockShape& shape, const ClassifierShape& head) {
  return {.rows = shape.rows(), .in = shape.hidden, .out = head.classes, .bias = false};
}

/// The list of samples' numbers, to the device; the host waits until it is there.
void copy_indices(StepWriter& step, const BlockShape& shape, const ClassifierShape& head) {
  if (head.indices_on_host) {
    step.launch(kernels::copy_to_device(size_of(DataType::INT64) * static_cast<double>(shape.batch), false));
    step.program().wait_stream(step.current());
  }
}

/// Finds the end of a sample from its padding: tokens that are none are counted.
void gpt_forward(StepWriter& step, const BlockShape& shape, const ClassifierShape& head) {
  linear_forward(step, score(shape, head), true);
  step.op("aten::ne", {kernels::elementwise("ne", shape.rows(), DataType::INT64, {})});
  step.op("aten::sum",
          {kernels::reduce("sum", {.rows = shape.batch, .columns = shape.sequence}, DataType::INT64)});
  step.op("aten::sub", {kernels::scale(shape.batch, DataType::INT64)});
  if (!head.indices_on_host) {
    step.op("aten::arange", {kernels::fill(shape.batch, DataType::INT64)});
  }
  step.program().begin("aten::index");
  copy_indices(step, shape, head);
  step.launch(kernels::by_offsets("index", shape.batch * head.classes, storage_type(step.precision()), {}));
  step.program().end();
}

void gpt_backward(StepWriter& step, const BlockShape& shape, const ClassifierShape& head,
                  GradientSink& gradients) {
  const DataType type = storage_type(step.precision());
  step.program().begin("IndexBackward0");
  step.launch(kernels::fill(shape.rows() * head.classes, type));
  copy_indices(step, shape, head);
  step.launch(kernels::by_offsets("index_put", shape.batch * head.classes, type, {.reads = 2}));
  step.program().end();
  linear_backward(step, score(shape, head), gradients, true, true);
}

}  // namespace

void classifier_forward(StepWriter& step, const BlockShape& shape, const ClassifierShape& head) {
  if (head.of_tokens) {
    tokens_forward(step, shape, head);
    return;
  }
  (shape.kind == BlockKind::Bert ? bert_forward : gpt_forward)(step, shape, head);
}

void classifier_backward(StepWriter& step, const BlockShape& shape, const ClassifierShape& head,
                         GradientSink& gradients) {
  if (head.of_tokens) {
    tokens_backward(step, shape, head, gradients);
    return;
  }
  (shape.kind == BlockKind::Bert ? bert_backward : gpt_backward)(step, shape, head, gradients);
}

}  // namespace lockstep
