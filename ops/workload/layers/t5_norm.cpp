#include "ops/workload/layers/t5_norm.hpp"

#include "ops/workload/layers/cast.hpp"
#include "ops/workload/layers/kernels.hpp"

namespace lockstep {
namespace {

constexpr DataType kWide = DataType::FP32;

bool is_narrow(const StepWriter& step) {
  return step.types().model() != kWide;
}

}  // namespace

void t5_norm_forward(StepWriter& step, std::int64_t rows, std::int64_t columns) {
  const DataType type = step.types().model();
  const std::int64_t elements = rows * columns;
  if (is_narrow(step)) {
    step.op("aten::to", {kernels::cast(step, elements, type, kWide)});
  }
  step.op("aten::pow", {kernels::elementwise("pow", elements, kWide, {})});
  step.op("aten::mean", {kernels::reduce("mean", {.rows = rows, .columns = columns}, kWide)});
  step.op("aten::add", {kernels::scale(rows, kWide)});
  step.op("aten::rsqrt", {kernels::elementwise("rsqrt", rows, kWide, {})});
  // A number a row is broadcast along it, and the result is in FP32.
  step.op("aten::mul",
          {kernels::by_offsets("mul", elements, type, {.writes = size_of(kWide) / size_of(type)})});
  if (is_narrow(step)) {
    step.op("aten::to", {kernels::cast(step, elements, kWide, type)});
  }
  step.op("aten::mul", {kernels::by_offsets("mul", elements, type, {})});  // the weight is one row
}

void t5_norm_backward(StepWriter& step, std::int64_t rows, std::int64_t columns, GradientSink& gradients,
                      int other_gradients) {
  const DataType type = step.types().model();
  const std::int64_t elements = rows * columns;
  step.op("MulBackward0", {kernels::mul(elements, type), kernels::by_offsets("mul", elements, type, {})});
  step.op("aten::sum",
          {kernels::reduce("sum", {.rows = rows, .columns = columns, .across_rows = true}, type)});
  gradients.accumulate(columns);
  if (is_narrow(step)) {
    step.op("ToCopyBackward0", {kernels::cast(step, elements, type, kWide)});
  }
  step.op("MulBackward0", {kernels::by_offsets("mul", elements, kWide, {}), kernels::mul(elements, kWide)});
  step.op("aten::sum", {kernels::reduce("sum", {.rows = rows, .columns = columns}, kWide)});
  step.op("RsqrtBackward0", {kernels::elementwise("pow", rows, kWide, {}), kernels::scale(rows, kWide),
                             kernels::mul(rows, kWide)});
  step.op("AddBackward0");
  // An expanded number a row is divided: all elements are written.
  step.op("MeanBackward1", {kernels::by_offsets("div", elements, kWide, {.reads = 0})});
  // grad * (2 * x.pow(1)); pow of 1 is a copy.
  step.op("PowBackward0", {kernels::copy_on_device(static_cast<double>(elements) * size_of(kWide)),
                           kernels::scale(elements, kWide), kernels::mul(elements, kWide)});
  if (is_narrow(step)) {
    step.op("ToCopyBackward0", {kernels::cast(step, elements, kWide, type)});
    step.op("aten::to", {kernels::cast(step, elements, kWide, type)});  // the product's gradient by x
  }
  for (int other = 0; other < 1 + other_gradients; ++other) {  // x is squared and scaled
    step.op("aten::add_", {kernels::add(elements, type)});
  }
}

}  // namespace lockstep
