#include "ops/workload/layers/dropout.hpp"

#include "ops/workload/layers/kernels.hpp"

namespace lockstep {
namespace {

/// Instructions of a thread for each random number, see the header.
constexpr double kInstructions = 34;

double mask_share(DataType type) {
  return size_of(DataType::BOOL) / size_of(type);
}

}  // namespace

void dropout_forward(StepWriter& step, std::int64_t elements, DataType type) {
  step.op("aten::dropout", {{"fused_dropout_kernel_vec", type,
                             Pointwise{.elements = elements,
                                       .reads = 1,
                                       .writes = 1 + mask_share(type),
                                       .flops = 10,
                                       .instructions = kInstructions,
                                       .in_step = true}}});
}

void dropout_backward(StepWriter& step, std::int64_t elements, DataType type) {
  step.op("NativeDropoutBackward0",
          {kernels::elementwise("masked_scale", elements, type,
                                {.reads = 1 + mask_share(type), .writes = 1, .flops = 2})});
}

}  // namespace lockstep
