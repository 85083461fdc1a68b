#include "ops/workload/layers/cross_entropy.hpp"

#include "ops/workload/layers/cast.hpp"
#include "ops/workload/layers/kernels.hpp"

namespace lockstep {
namespace {

KernelCall log_softmax(const char* name, const CrossEntropyShape& shape, DataType type, Direction direction) {
  return {name, type,
          Softmax{.rows = shape.rows(), .columns = shape.classes, .direction = direction, .logarithm = true}};
}

KernelCall per_row(const char* name, const CrossEntropyShape& shape) {
  return {name, DataType::FP32, Pointwise{.elements = shape.rows(), .reads = 3, .writes = 1, .flops = 2}};
}

std::int64_t all_logits(const CrossEntropyShape& shape) {
  return shape.batch * shape.sequence * shape.classes;
}

/// One block of 32 threads goes through the rows, each behind its label
/// (aten/src/ATen/native/cuda/NLLLoss.cu, NLL_LOSS_THREADS).
KernelCall nll_loss(const char* name, const CrossEntropyShape& shape) {
  constexpr std::int64_t kThreads = 32;
  KernelCall call = per_row(name, shape);
  std::get<Pointwise>(call.work).chain = (shape.rows() + kThreads - 1) / kThreads;
  return call;
}

DataType shifted_type(const CrossEntropyShape& shape, DataType logits) {
  return shape.cast_first ? DataType::FP32 : logits;
}

/// Autocast leaves the log-softmax in 16 bits, and casts its result.
bool casts_behind(const StepWriter& step, const CrossEntropyShape& shape) {
  return step.types().casts() && !shape.cast_first;
}

}  // namespace

void cross_entropy_forward(StepWriter& step, const CrossEntropyShape& shape) {
  const DataType logits = storage_type(step.precision());
  const std::int64_t elements = shape.rows() * shape.classes;
  const bool casts = is_mixed(step.precision());
  if (casts && shape.cast_first) {
    step.op("aten::to", {kernels::cast(step, all_logits(shape), logits, DataType::FP32)});
  }
  if (shape.pads_labels) {
    const KernelCall copy = kernels::strided_copy(shape.rows(), DataType::INT64);
    step.op("aten::pad", {kernels::fill(shape.rows(), DataType::INT64), copy});
    step.op("aten::contiguous", {copy});
  }
  if (shape.shifted) {  // contiguous() of all but the last position copies when there are several samples
    for (int slice = 0; slice < 3; ++slice) {
      step.op("aten::slice");
    }
    if (shape.batch > 1) {
      step.op("aten::contiguous", {kernels::strided_copy(elements, shifted_type(shape, logits))});
      step.op("aten::contiguous", {kernels::strided_copy(shape.rows(), DataType::INT64)});
    }
  }
  step.op("aten::view");
  step.op("aten::view");
  step.program().begin("aten::cross_entropy_loss");
  const bool behind = casts_behind(step, shape);
  const KernelCall to_wide = kernels::cast(step, elements, logits, DataType::FP32);
  if (casts && !shape.cast_first && !behind) {
    step.launch(to_wide);
  }
  step.launch(
      log_softmax("cunn_SoftMaxForward", shape, behind ? logits : DataType::FP32, Direction::Forward));
  if (behind) {
    step.launch(to_wide);
  }
  step.launch(nll_loss("nll_loss_forward_reduce_cuda_kernel_2d", shape));
  step.program().end();
}

void cross_entropy_backward(StepWriter& step, const CrossEntropyShape& shape) {
  const DataType logits = storage_type(step.precision());
  const std::int64_t elements = shape.rows() * shape.classes;
  step.op("NllLossBackward0", {kernels::fill(elements, DataType::FP32),
                               nll_loss("nll_loss_backward_reduce_cuda_kernel_2d", shape)});
  const bool casts = is_mixed(step.precision()), behind = casts_behind(step, shape);
  const KernelCall to_narrow = kernels::cast(step, elements, DataType::FP32, logits);
  if (behind) {
    step.op("ToCopyBackward0", {to_narrow});
  }
  step.op("LogSoftmaxBackward0", {log_softmax("cunn_SoftMaxBackward", shape, behind ? logits : DataType::FP32,
                                              Direction::Backward)});
  if (casts && !shape.cast_first && !behind) {
    step.op("ToCopyBackward0", {to_narrow});
  }
  step.op("ViewBackward0");
  if (shape.shifted) {  // each slice of [..., :-1, :] writes its gradient into zeros
    const DataType type = shifted_type(shape, logits);
    const KernelCall into_zeros = kernels::strided_copy(elements, type);
    if (step.framework().slices_whole_dimensions) {
      step.op("SliceBackward0", {kernels::fill(elements, type), into_zeros});
    }
    step.op("SliceBackward0", {kernels::fill(all_logits(shape), type), into_zeros});
  }
  if (casts && shape.cast_first) {
    step.op("ToCopyBackward0", {kernels::cast(step, all_logits(shape), DataType::FP32, logits)});
  }
}

void sharded_cross_entropy_forward(StepWriter& step, const CrossEntropyShape& shape,
                                   const std::function<void()>& reduce) {
  const std::int64_t rows = shape.rows(), elements = rows * shape.classes;
  const auto over_row = [&](const char* what) {
    return kernels::reduce(what, {.rows = rows, .columns = shape.classes}, DataType::FP32);
  };
  const auto subtract = kernels::by_offsets("sub", elements, DataType::FP32, {});  // a number of each row
  if (is_mixed(step.precision())) {
    step.op("aten::to", {kernels::cast(step, elements, storage_type(step.precision()), DataType::FP32)});
  }
  step.op("aten::amax", {over_row("max")});
  reduce();
  step.op("aten::sub", {subtract});
  step.op("aten::exp", {kernels::elementwise("exp", elements, DataType::FP32, {.flops = 8})});
  step.op("aten::sum", {over_row("sum")});
  reduce();
  step.op("aten::log", {kernels::elementwise("log", rows, DataType::FP32, {.flops = 8})});
  step.op("aten::sub", {subtract});
  step.op("aten::gather", {per_row("index_elementwise_kernel", shape)});
  step.op("aten::masked_fill_", {kernels::elementwise("masked_fill", rows, DataType::FP32, {})});
  reduce();
  step.op("aten::neg", {kernels::scale(rows, DataType::FP32)});
  step.op("aten::sum", {kernels::reduce("sum", {.rows = 1, .columns = rows}, DataType::FP32)});
}

void sharded_cross_entropy_backward(StepWriter& step, const CrossEntropyShape& shape) {
  const std::int64_t elements = shape.rows() * shape.classes;
  const DataType wide = DataType::FP32;
  step.op("aten::zeros_like", {kernels::fill(elements, wide)});
  step.op("aten::index_put_", {per_row("index_elementwise_kernel", shape)});
  step.op("aten::exp", {kernels::elementwise("exp", elements, wide, {.flops = 8})});
  step.op("aten::add", {kernels::add(elements, wide)});
  step.op("aten::mul", {kernels::by_offsets("mul", elements, wide, {})});  // by a number of each row
  if (is_mixed(step.precision())) {
    step.op("ToCopyBackward0", {kernels::cast(step, elements, wide, storage_type(step.precision()))});
  }
}

}  // namespace lockstep
