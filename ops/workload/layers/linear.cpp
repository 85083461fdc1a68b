#include "ops/workload/layers/linear.hpp"

#include "ops/workload/layers/kernels.hpp"

namespace lockstep {
namespace {

void write_cast(StepWriter& step, std::int64_t elements) {
  step.launch(kernels::cast(elements, DataType::FP32, product_type(step.precision())));
}

/// The gradient of a cast: back to FP32.
void cast_back(StepWriter& step, std::int64_t elements) {
  step.op("ToCopyBackward0", {kernels::cast(elements, product_type(step.precision()), DataType::FP32)});
}

}  // namespace

void linear_forward(StepWriter& step, const LinearShape& shape, bool cast_input) {
  const DataType product = product_type(step.precision());
  ProgramBuilder& program = step.program();
  program.begin("aten::linear");
  if (is_mixed(step.precision())) {
    if (cast_input) {
      write_cast(step, shape.rows * shape.in);
    }
    write_cast(step, shape.in * shape.out);
    if (shape.bias) {
      write_cast(step, shape.out);
    }
  }
  if (shape.bias && !step.framework().bias_in_gemm) {
    step.launch(kernels::elementwise("copy", shape.rows * shape.out, storage_type(step.precision()),
                                     {.reads = 0, .writes = 1, .flops = 0}));  // the bias, broadcast
  }
  step.launch(kernels::product(
      {.batch = 1, .m = shape.rows, .n = shape.out, .k = shape.in, .transpose_b = true}, product));
  program.end();
}

void linear_backward(StepWriter& step, const LinearShape& shape, GradientSink& gradients, bool input_gradient,
                     bool cast_input) {
  const DataType product = product_type(step.precision());
  const bool mixed = is_mixed(step.precision());
  ProgramBuilder& program = step.program();
  program.begin(shape.bias ? "AddmmBackward0" : "MmBackward0");
  if (input_gradient) {
    step.launch(kernels::product({.batch = 1, .m = shape.rows, .n = shape.in, .k = shape.out}, product));
  }
  step.launch(kernels::product(
      {.batch = 1, .m = shape.out, .n = shape.in, .k = shape.rows, .transpose_a = true}, product));
  program.end();
  if (shape.bias) {
    step.op("aten::sum",
            {kernels::reduce("sum", {.rows = shape.rows, .columns = shape.out, .across_rows = true},
                             storage_type(step.precision()))});
    if (mixed) {
      cast_back(step, shape.out);
    }
    gradients.accumulate(shape.out);
  }
  step.op("TBackward0");
  if (mixed) {
    cast_back(step, shape.in * shape.out);
  }
  gradients.accumulate(shape.in * shape.out);
  if (mixed && cast_input && input_gradient) {
    cast_back(step, shape.rows * shape.in);
  }
}

}  // namespace lockstep
