#include "ops/workload/parallel/parameter_update.hpp"

#include <algorithm>

#include "ops/workload/element_count.hpp"
#include "ops/workload/layers/kernels.hpp"
#include "ops/workload/multi_tensor.hpp"
#include "ops/workload/optimizer_step.hpp"

namespace lockstep {

/// One number of all ranks that hold what a replica updates; the host reads it.
void ParameterUpdate::read_of_replica() const {
  const bool shares = scope_.plan.spec.sharding != Sharding::None;
  scope_.communicate(CollectiveKind::AllReduce, shares ? "world" : "mp",
                     shares ? scope_.plan.ranks : scope_.plan.spec.tensor * scope_.plan.spec.pipeline,
                     size_of(DataType::FP32));
  scope_.step.blocking_copy("aten::item", kernels::copy_to_host(size_of(DataType::FP32), false));
}

/// The optimizer's gradients are FP32 as its parameters are (Megatron-LM core/optimizer/distrib_optimizer.py,
/// _copy_model_grads_to_main_grads). DeepSpeed's are put together first, a sub-group of a billion at a time
/// (runtime/zero/stage3.py, _prepare_fp32_grad_for_sub_group).
/// @return memory for them, until the update is over
Bytes ParameterUpdate::widen(std::int64_t elements, std::int64_t pieces) const {
  const bool has_types = is_mixed(scope_.step.precision()) && !scope_.plan.pure;
  if (!has_types || scope_.plan.has_fp32_gradient_shares() || is_on_host()) {
    return Bytes{0};
  }
  constexpr std::int64_t kSubGroup = 1'000'000'000;
  const bool is_deepspeed = scope_.plan.spec.zero3_implementation == Zero3Implementation::DeepSpeed;
  const std::int64_t at_once = is_deepspeed ? std::min(elements, kSubGroup) : elements;
  const Bytes size = static_cast<double>(at_once) * size_of(DataType::FP32);
  scope_.memory.allocate(MemoryUse::Workspace, size);
  if (is_deepspeed) {
    scope_.step.op("aten::cat", {kernels::concat(elements, pieces, scope_.storage())});
  }
  scope_.step.op("aten::to", {kernels::cast(elements, scope_.storage(), DataType::FP32)});
  return size;
}

/// FP16's gradients: divided by the loss's scale and searched for what overflowed, which the host reads
/// (Megatron-LM megatron/optimizer/optimizer.py, MixedPrecisionOptimizer).
void ParameterUpdate::unscale(std::int64_t elements) const {
  if (!is_on_host()) {
    scope_.step.program().begin("aten::_amp_foreach_non_finite_check_and_unscale_");
    for (const auto& launch : multi_tensor_launches(std::vector{elements}, 1)) {
      scope_.step.launch({"multi_tensor_apply_kernel<unscale>", DataType::FP32,
                          Pointwise{.elements = launch.elements, .reads = 1, .writes = 1, .flops = 2}});
    }
    scope_.step.program().end();
  }
  read_of_replica();
}

/// The norm of all gradients of a replica; the host reads it.
void ParameterUpdate::clip(std::int64_t elements) const {
  if (!is_on_host()) {
    scope_.step.program().begin("clip_grad_norm");
    for (const auto& launch : multi_tensor_launches(std::vector{elements}, 1)) {
      scope_.step.launch({"multi_tensor_apply_kernel<l2norm>", scope_.step.types().optimizer(),
                          Pointwise{.elements = launch.elements, .reads = 1, .writes = 0, .flops = 2}});
    }
    scope_.step.program().end();
  }
  read_of_replica();
  if (!is_on_host()) {
    scope_.step.op("multi_tensor_scale", {kernels::scale(elements, scope_.step.types().optimizer())});
  }
}

/// DeepSpeed's ZeRO-3 takes the norm of gradients as they were reduced, in FP64, whether it clips or not, and
/// multiplies what it makes FP32 by what unscales and clips (runtime/zero/stage3.py, get_grad_norm_direct,
/// unscale_and_clip_grads). @return as widen()
Bytes ParameterUpdate::deepspeed_gradients(std::int64_t elements, std::int64_t pieces) const {
  const DataType type = scope_.plan.has_fp32_gradients() ? DataType::FP32 : scope_.storage();
  const double doubles = Bytes{8} / size_of(type);
  scope_.step.op("aten::norm", {kernels::elementwise("cast", elements, type, {.writes = doubles}),
                                kernels::elementwise("l2norm", elements, type,
                                                     {.reads = doubles, .writes = 0, .flops = 2})});
  read_of_replica();
  const Bytes wide = widen(elements, pieces);
  scope_.step.op("aten::mul_", {kernels::scale(elements, DataType::FP32)});
  return wide;
}

Bytes ParameterUpdate::prepare_gradients(std::int64_t elements, std::int64_t pieces) const {
  if (scope_.plan.spec.zero3_implementation == Zero3Implementation::DeepSpeed && !is_on_host()) {
    return deepspeed_gradients(elements, pieces);
  }
  const Bytes wide = widen(elements, pieces);
  if (scope_.step.precision() == Precision::FP16) {
    unscale(elements);
  }
  if (clips_) {
    clip(elements);
  }
  return wide;
}

void ParameterUpdate::fused_update(std::int64_t elements) const {
  scope_.step.program().begin("Optimizer.step#FusedAdam.step");
  for (const auto& launch : multi_tensor_launches(std::vector{elements}, 4)) {
    scope_.step.launch({"multi_tensor_apply_kernel<fused_adamw>", DataType::FP32,
                        OptimizerUpdate{.optimizer = Optimizer::AdamW,
                                        .parameters = launch.elements,
                                        .tensors = launch.tensors,
                                        .reads = 4,
                                        .writes = 3,
                                        .flops = 15}});
  }
  scope_.step.program().end();
}

void ParameterUpdate::on_gpu(const Trained& trained, std::int64_t elements, std::int64_t narrow) const {
  if (trained.by_torch) {  // each parameter's share
    std::vector<std::int64_t> shares = trained.parameters;
    const std::int64_t all = elements_of(shares);
    for (std::int64_t& share : shares) {
      share = std::max<std::int64_t>(1, share * elements / all);
    }
    const bool makes_roots = scope_.step.framework().optimizer == OptimizerStyle::MultiTensor;
    const Bytes roots =
        size_of(scope_.step.types().optimizer()) * (makes_roots ? static_cast<double>(elements) : 0.0);
    scope_.memory.allocate(MemoryUse::Workspace, roots);  // of second moments
    optimizer_step(scope_.step, {.kind = Optimizer::AdamW}, shares);
    scope_.memory.release(MemoryUse::Workspace, roots);
  } else {
    fused_update(elements);
  }
  if (narrow > 0 && trained.type != scope_.step.types().optimizer()) {
    const double part = size_of(scope_.storage()) / size_of(DataType::FP32);
    scope_.step.op("aten::_foreach_copy_", {{"multi_tensor_apply_kernel<copy>", DataType::FP32,
                                             Pointwise{.elements = narrow, .reads = 1, .writes = part}}});
  }
}

void ParameterUpdate::share(Bytes parameters, bool expert) const {
  const Sharding sharding = scope_.plan.spec.sharding;
  if (parameters > Bytes{0} && (sharding == Sharding::Zero1 || sharding == Sharding::Zero2)) {
    const Replication of = scope_.plan.replication(expert);
    scope_.communicate(CollectiveKind::AllGather, of.shard_group(), of.shard, parameters);
  }
}

}  // namespace lockstep
