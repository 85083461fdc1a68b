#include "ops/workload/layers/cross_entropy.hpp"

#include "ops/workload/layers/kernels.hpp"

namespace lockstep {
namespace {

KernelCall log_softmax(const char* name, const CrossEntropyShape& shape, Direction direction) {
  return {name, DataType::FP32,
          Softmax{.rows = shape.rows(), .columns = shape.classes, .direction = direction, .logarithm = true}};
}

KernelCall per_row(const char* name, const CrossEntropyShape& shape) {
  return {name, DataType::FP32, Pointwise{.elements = shape.rows(), .reads = 3, .writes = 1, .flops = 2}};
}

}  // namespace

void cross_entropy_forward(StepWriter& step, const CrossEntropyShape& shape) {
  const DataType logits = storage_type(step.precision());
  const std::int64_t elements = shape.rows() * shape.classes;
  if (shape.shifted) {  // contiguous() of all but the last position copies when there are several samples
    for (int slice = 0; slice < 3; ++slice) {
      step.op("aten::slice");
    }
    if (shape.batch > 1) {
      step.op("aten::contiguous", {kernels::strided_copy(elements, logits)});
      step.op("aten::contiguous", {kernels::strided_copy(shape.rows(), DataType::INT64)});
    }
  }
  step.op("aten::view");
  step.op("aten::view");
  step.program().begin("aten::cross_entropy_loss");
  if (is_mixed(step.precision())) {
    step.launch(kernels::cast(elements, logits, DataType::FP32));
  }
  step.launch(log_softmax("cunn_SoftMaxForward", shape, Direction::Forward));
  step.launch(per_row("nll_loss_forward_reduce_cuda_kernel_2d", shape));
  step.program().end();
}

void cross_entropy_backward(StepWriter& step, const CrossEntropyShape& shape) {
  const DataType logits = storage_type(step.precision());
  const std::int64_t elements = shape.rows() * shape.classes;
  step.op("NllLossBackward0", {kernels::fill(elements, DataType::FP32),
                               per_row("nll_loss_backward_reduce_cuda_kernel_2d", shape)});
  step.op("LogSoftmaxBackward0", {log_softmax("cunn_SoftMaxBackward", shape, Direction::Backward)});
  if (is_mixed(step.precision())) {
    step.op("ToCopyBackward0", {kernels::cast(elements, DataType::FP32, logits)});
  }
  step.op("ViewBackward0");
  if (shape.shifted) {  // [..., :-1, :] is two slices; each writes its gradient into zeros
    const std::int64_t all = shape.batch * shape.sequence * shape.classes;
    step.op("SliceBackward0", {kernels::fill(elements, logits), kernels::strided_copy(elements, logits)});
    step.op("SliceBackward0", {kernels::fill(all, logits), kernels::strided_copy(elements, logits)});
  }
}

}  // namespace lockstep
