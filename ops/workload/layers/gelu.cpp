#include "ops/workload/layers/gelu.hpp"

#include <string_view>

#include "ops/workload/layers/cast.hpp"
#include "ops/workload/layers/kernels.hpp"

namespace lockstep {
namespace {

KernelCall power(std::int64_t elements, DataType type) {
  return kernels::elementwise("pow", elements, type, {.flops = kPow});
}

/// A kernel that reads the product's result, x, and what pow() made FP32 of it under autocast.
KernelCall with_input(const StepWriter& step, std::string_view what, std::int64_t elements) {
  const DataType wide = step.types().model();
  if (!step.types().casts()) {
    return what == "add" ? kernels::add(elements, wide) : kernels::mul(elements, wide);
  }
  const double narrow = size_of(storage_type(step.precision())) / size_of(wide);
  return kernels::of_two_types(what, elements, wide, {.reads = 1 + narrow});
}

/// Autograd gives an operand of 16 bits its gradient in 16 bits.
void narrow_gradient(StepWriter& step, std::int64_t elements) {
  if (step.types().casts()) {
    step.op("aten::to",
            {kernels::cast(step, elements, step.types().model(), storage_type(step.precision()))});
  }
}

/// 0.5 x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3)))
void composed_forward(StepWriter& step, std::int64_t elements) {
  const DataType input = storage_type(step.precision());
  const DataType wide = step.types().model();
  step.op("aten::mul", {kernels::scale(elements, input)});
  if (step.types().casts()) {
    step.op("aten::pow", {kernels::cast(step, elements, input, wide), power(elements, wide)});
  } else {
    step.op("aten::pow", {power(elements, wide)});
  }
  step.op("aten::mul", {kernels::scale(elements, wide)});
  step.op("aten::add", {with_input(step, "add", elements)});
  step.op("aten::mul", {kernels::scale(elements, wide)});
  step.op("aten::tanh", {kernels::elementwise("tanh", elements, wide, {.flops = kTanhForward})});
  step.op("aten::add", {kernels::scale(elements, wide)});
  step.op("aten::mul", {with_input(step, "mul", elements)});
}

void composed_backward(StepWriter& step, std::int64_t elements) {
  const DataType input = storage_type(step.precision());
  const DataType wide = step.types().model();
  step.op("MulBackward0", {with_input(step, "mul", elements), kernels::mul(elements, wide)});
  narrow_gradient(step, elements);
  step.op("AddBackward0");
  step.op("TanhBackward0",
          {kernels::elementwise("tanh_backward", elements, wide, {.reads = 2, .flops = kTanhBackward})});
  step.op("MulBackward0", {kernels::scale(elements, wide)});
  step.op("AddBackward0");
  narrow_gradient(step, elements);
  step.op("MulBackward0", {kernels::scale(elements, wide)});
  step.op("PowBackward0",
          {power(elements, wide), kernels::scale(elements, wide), kernels::mul(elements, wide)});
  if (step.types().casts()) {
    step.op("ToCopyBackward0", {kernels::cast(step, elements, wide, input)});
  }
  step.op("aten::add_", {kernels::add(elements, input)});
  step.op("MulBackward0", {kernels::scale(elements, input)});
  step.op("aten::add_", {kernels::add(elements, input)});
}

struct BothWays {
  GeluWork forward, backward;
};

BothWays work_of(Gelu gelu) {
  switch (gelu) {
    case Gelu::Tanh:
      return {kTanhGeluForward, kTanhGeluBackward};
    case Gelu::Normcdf:
      return {kNormcdfGeluForward, kNormcdfGeluBackward};
    default:
      return {kGeluForward, kGeluBackward};
  }
}

}  // namespace

GeluWork forward_work(Gelu gelu) {
  return work_of(gelu).forward;
}

GeluWork backward_work(Gelu gelu) {
  return work_of(gelu).backward;
}

DataType gelu_result_type(Gelu gelu, TensorTypes types) {
  return gelu == Gelu::Composed ? types.model() : storage_type(types.precision);
}

void gelu_forward(StepWriter& step, Gelu gelu, std::int64_t elements) {
  if (gelu == Gelu::Composed) {
    composed_forward(step, elements);
  } else {
    const GeluWork work = forward_work(gelu);
    step.op("aten::gelu", {kernels::elementwise("gelu", elements, storage_type(step.precision()),
                                                {.flops = work.flops, .instructions = work.instructions})});
  }
}

void gelu_backward(StepWriter& step, Gelu gelu, std::int64_t elements) {
  if (gelu == Gelu::Composed) {
    composed_backward(step, elements);
  } else {
    const GeluWork work = backward_work(gelu);
    step.op("GeluBackward0",
            {kernels::elementwise("gelu_backward", elements, storage_type(step.precision()),
                                  {.reads = 2, .flops = work.flops, .instructions = work.instructions})});
  }
}

}  // namespace lockstep
