#include "ops/workload/layers/linear.hpp"

#include "ops/workload/layers/cast.hpp"
#include "ops/workload/layers/kernels.hpp"

namespace lockstep {
namespace {

void write_cast(StepWriter& step, std::int64_t elements) {
  step.launch(kernels::cast(step, elements, DataType::FP32, product_type(step.precision())));
}

/// The gradient of a cast: back to FP32.
void cast_back(StepWriter& step, std::int64_t elements) {
  step.op("ToCopyBackward0", {kernels::cast(step, elements, product_type(step.precision()), DataType::FP32)});
}

/// Sums of the columns of a matrix; those of one column lie side by side.
Reduction of_columns(std::int64_t rows, std::int64_t columns) {
  return columns == 1 ? Reduction{.rows = 1, .columns = rows}
                      : Reduction{.rows = rows, .columns = columns, .across_rows = true};
}

KernelCall bias_gradient(const StepWriter& step, const LinearShape& shape) {
  return kernels::reduce("sum", of_columns(shape.rows, shape.out), storage_type(step.precision()));
}

/// Gradients that a linear layer's backward makes.
struct LinearGradients {
  bool input = true, weight = true;
};

/// Products of the gradients of the input and of the weight.
void write_products(StepWriter& step, const LinearShape& shape, LinearGradients of, bool weight_first) {
  const DataType type = product_type(step.precision());
  const KernelCall weight = kernels::product(
      {.batch = 1, .m = shape.out, .n = shape.in, .k = shape.rows, .transpose_a = true}, type);
  step.program().begin(shape.bias ? "AddmmBackward0" : "MmBackward0");
  if (weight_first && of.weight) {
    step.launch(weight);
  }
  if (of.input) {
    step.launch(kernels::product({.batch = 1,
                                  .m = shape.rows,
                                  .n = shape.in,
                                  .k = shape.out,
                                  .transpose_b = !shape.weight_is_transposed},
                                 type));
  }
  if (!weight_first && of.weight) {
    step.launch(weight);
  }
  if (shape.bias && shape.in_views && of.weight) {
    step.launch(bias_gradient(step, shape));
  }
  step.program().end();
}

void bias_backward(StepWriter& step, const LinearShape& shape, GradientSink& gradients) {
  if (!shape.in_views) {
    step.op("aten::sum", {bias_gradient(step, shape)});
  }
  if (step.types().casts()) {
    cast_back(step, shape.out);
  }
  gradients.accumulate(shape.out);
}

const char* name_of(const LinearShape& shape) {
  return shape.weight_is_transposed ? "aten::linear" : "aten::addmm";
}

void write_casts(StepWriter& step, const LinearShape& shape, bool cast_input) {
  if (cast_input) {
    write_cast(step, shape.rows * shape.in);
  }
  write_cast(step, shape.in * shape.out);
  if (shape.bias) {
    write_cast(step, shape.out);
  }
}

/// cublasLt's epilogue, which PyTorch asks for unless some side is 1 long
/// (aten/src/ATen/native/cuda/Blas.cpp, addmm_out_cuda_impl); Apex's MLPs have it always.
bool adds_bias_in_gemm(const StepWriter& step, const LinearShape& shape) {
  const bool is_matrix = shape.rows > 1 && shape.in > 1 && shape.out > 1;
  return step.framework().bias_in_gemm && (is_matrix || step.framework().apex);
}

}  // namespace

void linear_casts_forward(StepWriter& step, const LinearShape& shape, bool cast_input) {
  if (!step.types().casts()) {
    return;
  }
  step.program().begin(name_of(shape));
  write_casts(step, shape, cast_input);
  step.program().end();
}

void linear_forward(StepWriter& step, const LinearShape& shape, bool cast_input) {
  const DataType product = product_type(step.precision());
  ProgramBuilder& program = step.program();
  program.begin(name_of(shape));
  if (step.types().casts()) {
    write_casts(step, shape, cast_input);
  }
  if (shape.bias && !adds_bias_in_gemm(step, shape)) {
    step.launch(kernels::unrolled_copy(shape.rows * shape.out, 0, 1, storage_type(step.precision())));
  }
  step.launch(kernels::product(
      {.batch = 1, .m = shape.rows, .n = shape.out, .k = shape.in, .transpose_b = shape.weight_is_transposed},
      product));
  program.end();
}

void linear_backward(StepWriter& step, const LinearShape& shape, GradientSink& gradients, bool input_gradient,
                     bool cast_input) {
  const bool mixed = step.types().casts();
  if (shape.in_views) {
    step.op("ViewBackward0");
  }
  const bool trains = gradients.trains();
  write_products(step, shape, {.input = input_gradient, .weight = trains}, false);
  if (shape.bias && trains) {
    bias_backward(step, shape, gradients);
  }
  if (shape.weight_is_transposed && trains) {
    step.op("TBackward0");
  }
  if (shape.in_views) {
    step.op("ViewBackward0");
  }
  if (mixed && trains) {
    cast_back(step, shape.in * shape.out);
  }
  gradients.accumulate(shape.in * shape.out);
  if (mixed && cast_input && input_gradient) {
    cast_back(step, shape.rows * shape.in);
  }
}

void tied_output_backward(StepWriter& step, const LinearShape& shape, GradientSink& gradients) {
  if (shape.in_views) {
    step.op("ViewBackward0");
    step.op("UnsafeViewBackward0");
  }
  const bool trains = gradients.trains();
  write_products(step, shape, {.input = true, .weight = trains}, true);
  if (shape.bias && trains) {
    bias_backward(step, shape, gradients);
  }
  if (shape.in_views) {
    step.op("ViewBackward0");
  }
  if (trains) {
    step.op("TBackward0");
  }
  if (step.types().casts()) {
    if (trains) {
      cast_back(step, shape.in * shape.out);
    }
    cast_back(step, shape.rows * shape.in);
  }
}

}  // namespace lockstep
