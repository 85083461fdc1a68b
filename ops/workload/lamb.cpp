#include "ops/workload/lamb.hpp"

#include <array>

#include "ops/workload/apex.hpp"
#include "ops/workload/layers/kernels.hpp"
#include "ops/workload/multi_tensor.hpp"

namespace lockstep {
namespace {

/// A stage of the update: lists of tensors, and passes over memory in tensors of the parameters' size.
struct Stage {
  const char* name;
  int operands;
  double reads, writes, flops;
};

constexpr Stage kUpdate{"multi_tensor_apply_kernel<lamb_stage1>", 4, 4, 3, 16};
constexpr Stage kApply{"multi_tensor_apply_kernel<lamb_stage2>", 2, 2, 1, 2};

void launch(StepWriter& step, const Stage& stage, std::span<const std::int64_t> parameters) {
  for (const MultiTensorLaunch& each : multi_tensor_launches(parameters, stage.operands)) {
    step.launch({stage.name, step.types().optimizer(),
                 OptimizerUpdate{.optimizer = Optimizer::Lamb,
                                 .parameters = each.elements,
                                 .tensors = each.tensors,
                                 .reads = stage.reads,
                                 .writes = stage.writes,
                                 .flops = stage.flops}});
  }
}

}  // namespace

void lamb_step(StepWriter& step, std::span<const std::int64_t> parameters) {
  step.program().begin("Optimizer.step#FusedLAMB.step");
  for (int type = 0; type < 2; ++type) {  // norms of gradients in 32 and in 16 bits, of which there is one
    step.launch(kernels::fill(1, DataType::FP32));
  }
  l2_norm(step, parameters);
  l2_norm(step, std::array<std::int64_t, 2>{1, 1});
  l2_norm(step, parameters);
  launch(step, kUpdate, parameters);
  l2_norm(step, parameters);
  launch(step, kApply, parameters);
  step.program().end();
}

}  // namespace lockstep
