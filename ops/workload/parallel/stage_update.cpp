/// @file
/// What a stage does with its gradients and parameters at the end of a step.

#include <algorithm>
#include <iterator>
#include <numeric>
#include <vector>

#include "ops/workload/parallel/fp8.hpp"
#include "ops/workload/parallel/parameter_update.hpp"
#include "ops/workload/parallel/stage_writer.hpp"

namespace lockstep {

/// torch.optim's AdamW; DeepSpeed shares one flat tensor and has a fused kernel, as Megatron-LM has.
bool StageWriter::uses_torch_optimizer() const {
  const bool is_deepspeed = plan_.spec.sharding != Sharding::None && !plan_.spec.is_fsdp();
  return is_llama(scope_) && !(is_hugging_face_llama(scope_) && is_deepspeed);
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

/// Trained elements of weights of FP8 products: all of experts, and the others.
std::int64_t StageWriter::fp8_elements_of(bool expert) const {
  if (is_frozen(scope_)) {
    return 0;
  }
  const std::int64_t of_experts =
      std::min(fp8_elements_, std::accumulate(expert_.begin(), expert_.end(), std::int64_t{0}));
  return expert ? of_experts : fp8_elements_ - of_experts;
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
  const ParameterUpdate parameter_update{scope_, setup_.clip_gradients};
  const Bytes wide = parameter_update.prepare_gradients(elements, std::ssize(dense_) + std::ssize(expert_));
  if (host_optimizer_.is_used()) {
    host_optimizer_.update(elements);
  } else {
    parameter_update.on_gpu({dense_, type_of_trained(), uses_torch_optimizer()}, elements, narrow);
  }
  memory_.release(MemoryUse::Workspace, wide);
  if (casts_before_gather(scope_)) {
    precompute_float8_scales(scope_, fp8_elements_ / plan_.shard, fp8_weights_);
  }
  for (const bool expert : {false, true}) {
    const std::vector<std::int64_t>& parameters = expert ? expert_ : dense_;
    const std::int64_t all = std::accumulate(parameters.begin(), parameters.end(), std::int64_t{0});
    const Bytes narrowed = (size_of(type_of_trained()) - size_of(DataType::FP8)) *
                           static_cast<double>(keeps_fp8_parameters(scope_) ? fp8_elements_of(expert) : 0);
    parameter_update.share(static_cast<double>(all) * size_of(type_of_trained()) - narrowed, expert);
  }
}

}  // namespace lockstep
