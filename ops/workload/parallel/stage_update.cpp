/// @file
/// What a stage does with its gradients and parameters at the end of a step.

#include <algorithm>
#include <iterator>
#include <numeric>
#include <vector>

#include "ops/workload/layers/kernels.hpp"
#include "ops/workload/multi_tensor.hpp"
#include "ops/workload/optimizer_step.hpp"
#include "ops/workload/parallel/fp8.hpp"
#include "ops/workload/parallel/stage_writer.hpp"

namespace lockstep {

/// One number of all ranks that hold what a replica updates; the host reads it.
void StageWriter::read_of_replica() {
  const bool shares = plan_.spec.sharding != Sharding::None;
  scope_.communicate(CollectiveKind::AllReduce, shares ? "world" : "mp",
                     shares ? plan_.ranks : plan_.spec.tensor * plan_.spec.pipeline, size_of(DataType::FP32));
  step_.blocking_copy("aten::item", kernels::copy_to_host(size_of(DataType::FP32), false));
}

/// The optimizer's gradients are FP32 as its parameters are (Megatron-LM core/optimizer/distrib_optimizer.py,
/// _copy_model_grads_to_main_grads). DeepSpeed's are put together first, a sub-group of a billion at a time
/// (runtime/zero/stage3.py, _prepare_fp32_grad_for_sub_group).
/// @return memory for them, until the update is over
Bytes StageWriter::widen(std::int64_t elements) {
  const bool has_types = is_mixed(step_.precision()) && !plan_.pure;
  if (!has_types || plan_.has_fp32_gradient_shares() || host_optimizer_.is_used()) {
    return Bytes{0};
  }
  constexpr std::int64_t kSubGroup = 1'000'000'000;
  const bool is_deepspeed = plan_.spec.shard_copies == ShardCopies::DeepSpeed;
  const std::int64_t at_once = is_deepspeed ? std::min(elements, kSubGroup) : elements;
  const Bytes size = static_cast<double>(at_once) * size_of(DataType::FP32);
  memory_.allocate(MemoryUse::Workspace, size);
  if (is_deepspeed) {
    step_.op("aten::cat",
             {kernels::concat(elements, std::ssize(dense_) + std::ssize(expert_), scope_.storage())});
  }
  step_.op("aten::to", {kernels::cast(elements, scope_.storage(), DataType::FP32)});
  return size;
}

/// FP16's gradients: divided by the loss's scale and searched for what overflowed, which the host reads
/// (Megatron-LM megatron/optimizer/optimizer.py, MixedPrecisionOptimizer).
void StageWriter::unscale(std::int64_t elements) {
  if (!host_optimizer_.is_used()) {
    step_.program().begin("aten::_amp_foreach_non_finite_check_and_unscale_");
    for (const auto& launch : multi_tensor_launches(std::vector{elements}, 1)) {
      step_.launch({"multi_tensor_apply_kernel<unscale>", DataType::FP32,
                    Pointwise{.elements = launch.elements, .reads = 1, .writes = 1, .flops = 2}});
    }
    step_.program().end();
  }
  read_of_replica();
}

/// The norm of all gradients of a replica; the host reads it.
void StageWriter::clip(std::int64_t elements) {
  if (!host_optimizer_.is_used()) {
    step_.program().begin("clip_grad_norm");
    for (const auto& launch : multi_tensor_launches(std::vector{elements}, 1)) {
      step_.launch({"multi_tensor_apply_kernel<l2norm>", step_.types().optimizer(),
                    Pointwise{.elements = launch.elements, .reads = 1, .writes = 0, .flops = 2}});
    }
    step_.program().end();
  }
  read_of_replica();
  if (!host_optimizer_.is_used()) {
    step_.op("multi_tensor_scale", {kernels::scale(elements, step_.types().optimizer())});
  }
}

/// DeepSpeed's ZeRO-3 takes the norm of gradients as they were reduced, in FP64, whether it clips or not, and
/// multiplies what it makes FP32 by what unscales and clips (runtime/zero/stage3.py, get_grad_norm_direct,
/// unscale_and_clip_grads). @return as widen()
Bytes StageWriter::deepspeed_gradients(std::int64_t elements) {
  const DataType type = plan_.has_fp32_gradients() ? DataType::FP32 : scope_.storage();
  const double doubles = Bytes{8} / size_of(type);
  step_.op("aten::norm",
           {kernels::elementwise("cast", elements, type, {.writes = doubles}),
            kernels::elementwise("l2norm", elements, type, {.reads = doubles, .writes = 0, .flops = 2})});
  read_of_replica();
  const Bytes wide = widen(elements);
  step_.op("aten::mul_", {kernels::scale(elements, DataType::FP32)});
  return wide;
}

/// Makes gradients those of the optimizer. @return as widen()
Bytes StageWriter::prepare_gradients(std::int64_t elements) {
  if (plan_.spec.shard_copies == ShardCopies::DeepSpeed && !host_optimizer_.is_used()) {
    return deepspeed_gradients(elements);
  }
  const Bytes wide = widen(elements);
  if (step_.precision() == Precision::FP16) {
    unscale(elements);
  }
  if (setup_.clip_gradients) {
    clip(elements);
  }
  return wide;
}

void StageWriter::fused_update(std::int64_t elements) {
  step_.program().begin("Optimizer.step#FusedAdam.step");
  for (const auto& launch : multi_tensor_launches(std::vector{elements}, 4)) {
    step_.launch({"multi_tensor_apply_kernel<fused_adamw>", DataType::FP32,
                  OptimizerUpdate{.optimizer = Optimizer::AdamW,
                                  .parameters = launch.elements,
                                  .tensors = launch.tensors,
                                  .reads = 4,
                                  .writes = 3,
                                  .flops = 15}});
  }
  step_.program().end();
}

/// torch.optim's AdamW; DeepSpeed shares one flat tensor and has a fused kernel, as Megatron-LM has.
bool StageWriter::uses_torch_optimizer() const {
  const bool is_deepspeed = plan_.spec.sharding != Sharding::None && !plan_.spec.is_fsdp();
  return is_llama(scope_) && !(is_hugging_face_llama(scope_) && is_deepspeed);
}

/// @param narrow elements whose 16-bit parameters are written too: no gather casts them later
void StageWriter::update_on_gpu(std::int64_t elements, std::int64_t narrow) {
  if (uses_torch_optimizer()) {  // each parameter's share
    std::vector<std::int64_t> shares = dense_;
    const std::int64_t all = std::accumulate(shares.begin(), shares.end(), std::int64_t{0});
    for (std::int64_t& share : shares) {
      share = std::max<std::int64_t>(1, share * elements / all);
    }
    const bool makes_roots = step_.framework().optimizer == OptimizerStyle::MultiTensor;
    const Bytes roots =
        size_of(step_.types().optimizer()) * (makes_roots ? static_cast<double>(elements) : 0.0);
    memory_.allocate(MemoryUse::Workspace, roots);  // of second moments
    optimizer_step(step_, {.kind = Optimizer::AdamW}, shares);
    memory_.release(MemoryUse::Workspace, roots);
  } else {
    fused_update(elements);
  }
  if (narrow > 0 && type_of_trained() != step_.types().optimizer()) {
    const double part = size_of(scope_.storage()) / size_of(DataType::FP32);
    step_.op("aten::_foreach_copy_", {{"multi_tensor_apply_kernel<copy>", DataType::FP32,
                                       Pointwise{.elements = narrow, .reads = 1, .writes = part}}});
  }
}

void StageWriter::finish_gradients() {
  gradients_.finish();
  wait_for_transfers();
  const bool split_weight = model_.tied && plan_.spec.pipeline > 1 && !is_frozen(scope_);
  const DataType gradient = plan_.has_fp32_gradients() ? DataType::FP32 : scope_.storage();
  if (split_weight && (has_embedding() || has_head())) {
    const double table = static_cast<double>(vocabulary_share() * model_.hidden);
    scope_.communicate(CollectiveKind::AllReduce, "embedding", 2, table * size_of(gradient));
  }
  host_optimizer_.flush();
}

void StageWriter::update() {
  const ModuleRange phase{step_, optimizes() ? "optimizer" : "gradients"};
  finish_gradients();
  if (!optimizes()) {
    return;
  }
  memory_.begin_update();
  std::int64_t elements = 0, narrow = 0;  // narrow: of these, elements of parameters that no gather casts
  for (const bool expert : {false, true}) {
    const std::vector<std::int64_t>& parameters = expert ? expert_ : dense_;
    const std::int64_t all = std::accumulate(parameters.begin(), parameters.end(), std::int64_t{0});
    const int ranks = plan_.spec.sharding == Sharding::None ? 1 : plan_.replication(expert).shard;
    elements += (all + ranks - 1) / ranks;
    narrow += plan_.gathers(expert) && plan_.casts_shares() ? 0 : (all + ranks - 1) / ranks;
  }
  const Bytes wide = prepare_gradients(elements);
  if (host_optimizer_.is_used()) {
    host_optimizer_.update(elements);
  } else {
    update_on_gpu(elements, narrow);
  }
  memory_.release(MemoryUse::Workspace, wide);
  if (casts_before_gather(scope_)) {
    precompute_float8_scales(scope_, fp8_elements_ / plan_.shard, fp8_weights_);
  }
  if (plan_.spec.sharding == Sharding::Zero1 || plan_.spec.sharding == Sharding::Zero2) {
    const auto gather = [&](const std::vector<std::int64_t>& parameters, bool expert) {
      const std::int64_t all = std::accumulate(parameters.begin(), parameters.end(), std::int64_t{0});
      if (all > 0) {
        const Replication of = plan_.replication(expert);
        scope_.communicate(CollectiveKind::AllGather, of.shard_group(), of.shard,
                           static_cast<double>(all) * size_of(type_of_trained()));
      }
    };
    gather(dense_, false);
    gather(expert_, true);
  }
}

}  // namespace lockstep
