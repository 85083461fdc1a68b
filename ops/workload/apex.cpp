#include "ops/workload/apex.hpp"

#include "ops/workload/layers/kernels.hpp"
#include "ops/workload/multi_tensor.hpp"

namespace lockstep {
namespace {

constexpr std::int64_t kPartialSums = 320;  // one for each block that a launch may have

}  // namespace

void l2_norm(StepWriter& step, std::span<const std::int64_t> tensors) {
  const DataType type = step.types().optimizer();
  step.launch(kernels::fill(kPartialSums, DataType::FP32));
  for (const MultiTensorLaunch& launch : multi_tensor_launches(tensors, 1)) {
    step.launch({"multi_tensor_apply_kernel<l2norm>", type,
                 Pointwise{.elements = launch.elements, .reads = 1, .writes = 0, .flops = 2}});
  }
  step.launch({"l2norm_cleanup", DataType::FP32,
               Pointwise{.elements = kPartialSums, .reads = 1, .writes = 0, .flops = 1}});
}

void unscale_into_master_gradients(StepWriter& step, std::span<const std::int64_t> parameters, bool adds) {
  const double narrow = size_of(step.types().model()) / size_of(step.types().optimizer());
  step.op("aten::zero_", {kernels::fill(1, DataType::FP32)});  // the overflow flag
  step.program().begin(adds ? "multi_tensor_axpby" : "multi_tensor_scale");
  for (const MultiTensorLaunch& launch : multi_tensor_launches(parameters, adds ? 3 : 2)) {
    step.launch({adds ? "multi_tensor_apply_kernel<axpby>" : "multi_tensor_apply_kernel<scale>",
                 step.types().optimizer(),
                 Pointwise{.elements = launch.elements,
                           .reads = narrow + (adds ? 1 : 0),
                           .writes = 1,
                           .flops = adds ? 3.0 : 1.0}});
  }
  step.program().end();
  if (step.precision() == Precision::FP16) {
    step.blocking_copy("aten::item", kernels::copy_to_host(size_of(DataType::FP32), false));
  }
}

void clip_gradients_with_apex(StepWriter& step, std::span<const std::int64_t> parameters) {
  step.program().begin("multi_tensor_l2norm");
  l2_norm(step, parameters);
  step.program().end();
  step.blocking_copy("aten::item", kernels::copy_to_host(size_of(DataType::FP32), false));
  step.program().begin("multi_tensor_scale");
  for (const MultiTensorLaunch& launch : multi_tensor_launches(parameters, 2)) {
    step.launch({"multi_tensor_apply_kernel<scale>", step.types().optimizer(),
                 Pointwise{.elements = launch.elements, .reads = 1, .writes = 1, .flops = 1}});
  }
  step.program().end();
}

}  // namespace lockstep
