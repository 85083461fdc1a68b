#include "ops/workload/parallel/stage_parameters.hpp"

#include <algorithm>
#include <iterator>

#include "ops/workload/element_count.hpp"
#include "ops/workload/parallel/fp8.hpp"
#include "ops/workload/parallel/parameter_update.hpp"
#include "ops/workload/parallel/trained_states.hpp"

namespace lockstep {

StageParameters::StageParameters(const StageScope& stage, HostOptimizer& host_optimizer,
                                 MemoryLedger& host_memory)
    : stage_{stage}, scope_{stage.layer}, host_optimizer_{host_optimizer}, host_memory_{host_memory} {
  for (int chunk = 0; chunk < scope_.plan.spec.chunks; ++chunk) {
    const LayerRange& range = stage_.layers_of(chunk);
    for (std::int64_t layer = range.first; layer < range.first + range.count; ++layer) {
      const LayerParameters of_layer = stage_.parameters(layer);
      dense_.insert(dense_.end(), of_layer.dense.begin(), of_layer.dense.end());
      frozen_ += of_layer.frozen;
      expert_.insert(expert_.end(), of_layer.expert.begin(), of_layer.expert.end());
      fp8_copies_ = scope_.plan.spec.sharding == Sharding::Zero3 ? std::max(fp8_copies_, of_layer.linear)
                                                                 : fp8_copies_ + of_layer.linear;
      fp8_elements_ += of_layer.linear;
      fp8_weights_ += of_layer.linear_layers;
    }
  }
  for (const ModelPart part : {ModelPart::Embedding, ModelPart::Head}) {
    const std::vector<std::int64_t> end = stage_.parameters_of_end(part);
    if (is_frozen(scope_) || !stage_.trains(part)) {
      frozen_ += elements_of(end);
    } else {
      dense_.insert(dense_.end(), end.begin(), end.end());
    }
  }
}

/// Embedding and head, then the stage's layers; torchao gathers weights of FP8 products as such.
std::vector<GatherUnit> StageParameters::units() const {
  const int kept = (stage_.has_embedding() ? 1 : 0) +
                   (stage_.has_head() && !(scope_.model.tied && stage_.has_embedding()) ? 1 : 0);
  const std::int64_t tables = stage_.vocabulary_share() * scope_.model.hidden * kept;
  const auto part = [&](std::int64_t elements, std::int64_t narrow, std::int64_t frozen) {
    return GatherPart{
        .elements = elements,
        .narrow = narrow,
        .frozen = frozen,
        .size = scope_.bytes(elements - narrow) + size_of(DataType::FP8) * static_cast<double>(narrow)};
  };
  std::vector<GatherUnit> units{
      {.dense = part(tables, 0, is_frozen(scope_) ? tables : stage_.frozen_tables()), .expert = {}}};
  for (const LayerRange& range : scope_.plan.layers) {
    for (std::int64_t layer = range.first; layer < range.first + range.count; ++layer) {
      const LayerParameters of_layer = stage_.parameters(layer);
      const std::int64_t narrow = casts_before_gather(scope_) ? of_layer.linear : 0;
      units.push_back({.dense = part(elements_of(of_layer.dense) + of_layer.frozen, narrow, of_layer.frozen),
                       .expert = part(elements_of(of_layer.expert), 0, 0)});
    }
  }
  return units;
}

void StageParameters::allocate_states() {
  scope_.memory.allocate(MemoryUse::Parameters, weight_copies(scope_, fp8_copies_));
  for (const bool expert : {false, true}) {
    allocate_trained(scope_, host_memory_,
                     {.elements = static_cast<double>(elements_of(expert ? expert_ : dense_)),
                      .expert = expert,
                      .type = stage_.type_of_trained(),
                      .optimizes = stage_.optimizes()});
  }
  allocate_frozen();
}

/// In the type of products, FSDP's shares, too.
void StageParameters::allocate_frozen() {
  const int ranks = scope_.plan.spec.sharding == Sharding::Zero3 ? scope_.plan.replication(false).shard : 1;
  scope_.memory.allocate(MemoryUse::Parameters, scope_.bytes(frozen_) / ranks);
}

Bytes StageParameters::passing_gradients(std::int64_t layer) const {
  const LayerParameters of_layer = stage_.parameters(layer);
  return lockstep::passing_gradients(scope_, elements_of(of_layer.dense) + elements_of(of_layer.expert));
}

Bytes StageParameters::waiting_gradients(int chunk) const {
  const bool is_shared = scope_.model.tied && stage_.has_embedding();  // which is there at the end
  if (is_frozen(scope_) || !stage_.trains(ModelPart::Head)) {
    return Bytes{0};
  }
  const bool keeps_whole = !scope_.plan.spec.reduce_each_micro_batch && scope_.plan.micro_batches > 1;
  if (!scope_.plan.spec.is_fsdp() || !stage_.is_last(chunk) || is_shared || keeps_whole) {
    return Bytes{0};
  }
  return scope_.bytes(stage_.vocabulary_share() * scope_.model.hidden);
}

void StageParameters::begin_step() {
  const bool leave_gpu = host_optimizer_.is_used() && scope_.plan.spec.sharding == Sharding::Zero2;
  const bool are_dropped = scope_.plan.spec.sharding == Sharding::Zero3 || is_llama(scope_);
  if (are_dropped || leave_gpu || !stage_.optimizes()) {
    return;  // gradients are dropped, or added to, instead of filled
  }
  const auto kept = [&](const std::vector<std::int64_t>& parameters, bool expert) {
    const int ranks =
        scope_.plan.spec.sharding == Sharding::Zero2 ? scope_.plan.replication(expert).shard : 1;
    return static_cast<double>(elements_of(parameters)) / ranks;
  };
  const double elements = kept(dense_, false) + kept(expert_, true);
  const DataType type = scope_.plan.has_fp32_gradients() ? DataType::FP32 : scope_.storage();
  scope_.step.program().begin("zero_grad_buffer");
  scope_.step.launch({"Memset (Device)", type, Memset{.size = elements * size_of(type)}});
  scope_.step.program().end();
}

/// torch.optim's AdamW; DeepSpeed shares one flat tensor and has a fused kernel, as Megatron-LM has.
bool StageParameters::uses_torch_optimizer() const {
  const bool is_deepspeed = scope_.plan.spec.sharding != Sharding::None && !scope_.plan.spec.is_fsdp();
  return is_llama(scope_) && !(is_hugging_face_llama(scope_) && is_deepspeed);
}

void StageParameters::finish_gradients() {
  const bool split_weight = scope_.model.tied && scope_.plan.spec.pipeline > 1 && !is_frozen(scope_);
  const DataType gradient = scope_.plan.has_fp32_gradients() ? DataType::FP32 : scope_.storage();
  if (split_weight && (stage_.has_embedding() || stage_.has_head())) {
    const double table = static_cast<double>(stage_.vocabulary_share() * scope_.model.hidden);
    scope_.communicate(CollectiveKind::AllReduce, "embedding", 2, table * size_of(gradient));
  }
  host_optimizer_.flush();
}

std::int64_t StageParameters::fp8_elements_of(bool expert) const {
  if (is_frozen(scope_)) {
    return 0;
  }
  const std::int64_t of_experts = std::min(fp8_elements_, elements_of(expert_));
  return expert ? of_experts : fp8_elements_ - of_experts;
}

void StageParameters::update() {
  scope_.memory.begin_update();
  std::int64_t elements = 0, narrow = 0;  // narrow: of these, elements of parameters that no gather casts
  for (const bool expert : {false, true}) {
    const std::vector<std::int64_t>& parameters = expert ? expert_ : dense_;
    const std::int64_t all = elements_of(parameters);
    const int ranks = scope_.plan.spec.sharding == Sharding::None ? 1 : scope_.plan.replication(expert).shard;
    elements += (all + ranks - 1) / ranks;
    narrow += scope_.plan.gathers(expert) && scope_.plan.casts_shares() ? 0 : (all + ranks - 1) / ranks;
  }
  const ParameterUpdate parameter_update{scope_, stage_.setup.clip_gradients};
  const Bytes wide = parameter_update.prepare_gradients(elements, std::ssize(dense_) + std::ssize(expert_));
  if (host_optimizer_.is_used()) {
    host_optimizer_.update(elements);
  } else {
    parameter_update.on_gpu({dense_, stage_.type_of_trained(), uses_torch_optimizer()}, elements, narrow);
  }
  scope_.memory.release(MemoryUse::Workspace, wide);
  if (casts_before_gather(scope_)) {
    precompute_float8_scales(scope_, fp8_elements_ / scope_.plan.shard, fp8_weights_);
  }
  for (const bool expert : {false, true}) {
    const std::vector<std::int64_t>& parameters = expert ? expert_ : dense_;
    const std::int64_t all = elements_of(parameters);
    const Bytes narrowed = (size_of(stage_.type_of_trained()) - size_of(DataType::FP8)) *
                           static_cast<double>(keeps_fp8_parameters(scope_) ? fp8_elements_of(expert) : 0);
    parameter_update.share(static_cast<double>(all) * size_of(stage_.type_of_trained()) - narrowed, expert);
  }
}

}  // namespace lockstep
