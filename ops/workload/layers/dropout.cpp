#include "ops/workload/layers/dropout.hpp"

#include "ops/workload/layers/kernels.hpp"

namespace lockstep {
namespace {

double mask_share(DataType type) {
  return size_of(DataType::BOOL) / size_of(type);
}

}  // namespace

void dropout_forward(StepWriter& step, std::int64_t elements, DataType type) {
  // About ten integer multiplications and additions of Philox for each random number.
  step.op("aten::dropout",
          {{"fused_dropout_kernel_vec", type,
            Pointwise{.elements = elements, .reads = 1, .writes = 1 + mask_share(type), .flops = 10}}});
}

void dropout_backward(StepWriter& step, std::int64_t elements, DataType type) {
  step.op("NativeDropoutBackward0",
          {kernels::elementwise("masked_scale", elements, type,
                                {.reads = 1 + mask_share(type), .writes = 1, .flops = 2})});
}

}  // namespace lockstep
