#include "ops/workload/master_weights.hpp"

#include "ops/workload/multi_tensor.hpp"

namespace lockstep {
namespace {

/// Between 16 and 32 bits, counted in elements of 32.
void convert_all(StepWriter& step, const char* name, std::span<const std::int64_t> parameters, double reads,
                 double writes) {
  step.program().begin(name);
  for (const MultiTensorLaunch& launch : multi_tensor_launches(parameters, 2)) {
    step.launch({"multi_tensor_apply_kernel<scale>", DataType::FP32,
                 Pointwise{.elements = launch.elements, .reads = reads, .writes = writes, .flops = 1}});
  }
  step.program().end();
}

}  // namespace

void widen_gradients(StepWriter& step, std::span<const std::int64_t> parameters) {
  convert_all(step, "gradients to FP32", parameters, 0.5, 1);
}

void copy_master_weights(StepWriter& step, std::span<const std::int64_t> parameters) {
  convert_all(step, "master weights to 16 bits", parameters, 1, 0.5);
}

}  // namespace lockstep
