#include "ops/workload/loss_scaling.hpp"

#include "ops/workload/layers/kernels.hpp"
#include "ops/workload/multi_tensor.hpp"

namespace lockstep {
namespace {

constexpr DataType kType = DataType::FP32;

/// An operation over all gradients, many at once, in elements of what the optimizer sees.
void for_all(StepWriter& step, const char* name, std::span<const std::int64_t> gradients, double writes,
             double reads = 1) {
  const DataType type = step.types().optimizer();
  for (const MultiTensorLaunch& launch : multi_tensor_launches(gradients, 1)) {
    step.launch(
        {name, type, Pointwise{.elements = launch.elements, .reads = reads, .writes = writes, .flops = 2}});
  }
}

}  // namespace

void scale_loss_forward(StepWriter& step) {
  step.op("aten::mul", {kernels::scale(1, kType)});
}

void scale_loss_backward(StepWriter& step) {
  step.op("MulBackward0", {kernels::scale(1, kType)});
}

void unscale_gradients(StepWriter& step, std::span<const std::int64_t> parameters) {
  // The inverse in double precision (8 bytes, as INT64): two casts around a reciprocal; then the flag to be
  // set.
  step.op("aten::double", {kernels::cast(1, kType, DataType::INT64)});
  step.op("aten::reciprocal", {kernels::scale(1, DataType::INT64)});
  step.op("aten::float", {kernels::cast(1, DataType::INT64, kType)});
  step.op("aten::full", {kernels::fill(1, kType)});
  step.program().begin("aten::_amp_foreach_non_finite_check_and_unscale_");
  for_all(step, "multi_tensor_apply_kernel<non_finite_check_and_unscale>", parameters, 1,
          size_of(step.types().model()) / size_of(step.types().optimizer()));  // master weights: widened too
  step.program().end();
  step.blocking_copy("aten::item", kernels::copy_to_host(size_of(kType), false));
}

void update_scale(StepWriter& step) {
  step.op("aten::_amp_update_scale_",
          {{"amp_update_scale_cuda_kernel", kType, Pointwise{.elements = 1, .reads = 3, .writes = 2}}});
}

void clip_by_norm(StepWriter& step, const std::function<void()>& multiply) {
  const bool host_decides = step.framework().clip_reads_norm;
  for (const char* const scalar :
       {"aten::add", "aten::reciprocal", "aten::mul", host_decides ? "aten::lt" : "aten::clamp"}) {
    step.op(scalar, {kernels::scale(1, kType)});
  }
  if (host_decides) {
    step.blocking_copy("aten::item", kernels::copy_to_host(size_of(DataType::BOOL), false));
  } else {
    multiply();
  }
}

void clip_gradients(StepWriter& step, std::span<const std::int64_t> parameters) {
  const auto count = static_cast<std::int64_t>(parameters.size());
  step.program().begin("aten::_foreach_norm");
  for_all(step, "multi_tensor_apply_kernel<lpnorm>", parameters, 0);
  step.launch({"lpnorm_cleanup", kType, Pointwise{.elements = count, .reads = 1, .writes = 1}});
  step.program().end();
  step.op("aten::stack", {kernels::concat(count, count, kType)});
  step.op("aten::linalg_vector_norm", {kernels::reduce("norm", {.rows = 1, .columns = count}, kType)});
  clip_by_norm(step, [&] {
    step.program().begin("aten::_foreach_mul_");
    for_all(step, "multi_tensor_apply_kernel<mul>", parameters, 1);
    step.program().end();
  });
}

}  // namespace lockstep
