#include "ops/workload/parallel/plan_spec.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

namespace lockstep {

namespace {

void check_sharding(const TransformerPlanSpec& plan) {
  if (plan.shard_group && plan.sharding == Sharding::None) {
    throw FieldError{"shard_group", "'shard_group' needs 'sharding' zero1, zero2 or zero3"};
  }
  if (!plan.reduce_each_micro_batch && (plan.sharding != Sharding::Zero3 || plan.offload != Offload::None)) {
    throw FieldError{"reduce_each_micro_batch",
                     "'reduce_each_micro_batch: false' is FSDP's no_sync: it needs 'sharding: zero3' without "
                     "'offload'; zero1 reduces in the last micro-batch anyway"};
  }
  const bool keeps = !plan.reshard_after_forward && !plan.reduce_each_micro_batch;
  if (plan.sharding == Sharding::Zero3 && plan.pipeline > 1 && !keeps) {
    throw FieldError{
        "sharding",
        "zero3 gathers every layer for every micro-batch: with a pipeline use zero1, or keep what "
        "was gathered and reduce once a step as torchtitan does, 'reshard_after_forward: false' "
        "with 'reduce_each_micro_batch: false'"};
  }
  if (plan.sharding == Sharding::Zero3 && plan.pipeline > 1 &&
      (plan.schedule == PipelineSchedule::ZeroBubble || plan.offload == Offload::Parameters)) {
    throw FieldError{"sharding",
                     "zero3 with a pipeline goes with 'schedule: gpipe', '1f1b' or 'interleaved' and without "
                     "'offload: parameters'"};
  }
  if (plan.copies() != Zero3Implementation::None && plan.sharding != Sharding::Zero3) {
    throw FieldError{
        "zero3_implementation",
        "'zero3_implementation' is PyTorch's FSDP or DeepSpeed's ZeRO-3: it needs 'sharding: zero3' "
        "(FSDP that keeps what it gathered until gradients are reduced is that with "
        "'reshard_after_forward: false')"};
  }
  if (plan.is_fsdp() && plan.offload != Offload::None) {
    throw FieldError{
        "offload",
        "'offload' is DeepSpeed's, whose 16-bit shares travel; PyTorch's CPUOffload of FP32 shares "
        "is not known: say 'zero3_implementation: deepspeed', or leave 'offload' out"};
  }
  if (!plan.reduce_scatter && (plan.sharding != Sharding::Zero1 || plan.offload != Offload::None ||
                               plan.shard_group || plan.overlap_gradients)) {
    throw FieldError{"reduce_scatter",
                     "'reduce_scatter: false' is what DeepSpeed's pipelines did with ZeRO-1 behind the last "
                     "micro-batch: it needs 'sharding: zero1' and 'overlap_gradients: false', without "
                     "'offload' and 'shard_group'"};
  }
  if (plan.offload != Offload::None && plan.sharding == Sharding::None) {
    throw FieldError{
        "offload",
        "'offload' puts what ZeRO shares on the host: it needs 'sharding' zero1, zero2 or zero3 (on "
        "one GPU too)"};
  }
  if (plan.offload_threads && (plan.offload == Offload::None || *plan.offload_threads < 1)) {
    throw FieldError{
        "offload_threads",
        "'offload_threads' are those of an optimizer on the host, at least 1: it needs 'offload'"};
  }
  if (plan.offload == Offload::Parameters && plan.sharding != Sharding::Zero3) {
    throw FieldError{
        "offload",
        "'offload: parameters' fetches every layer when it is needed, as 'sharding: zero3' gathers "
        "it; zero1 and zero2 have 'offload: optimizer'"};
  }
}

void check_stage_layers(const TransformerPlanSpec& plan) {
  if (plan.stage_layers.empty()) {
    return;
  }
  if (plan.stage_layers.size() != static_cast<std::size_t>(plan.pipeline) * plan.chunks) {
    throw FieldError{
        "stage_layers",
        fmt::format("'stage_layers' says how many layers each of 'pipeline: {}' stages x 'chunks: "
                    "{}' has, the first chunk of every stage first: {} numbers, not {}",
                    plan.pipeline, plan.chunks, plan.pipeline * plan.chunks, plan.stage_layers.size())};
  }
  if (std::ranges::any_of(plan.stage_layers, [](std::int64_t layers) { return layers < 0; })) {
    throw FieldError{"stage_layers", "a stage of 'stage_layers', or a chunk of one, has at least 0 layers"};
  }
}

void check_recomputation(const TransformerPlanSpec& plan) {
  if (plan.recompute_every < 1) {
    throw FieldError{"recompute_every",
                     fmt::format("'recompute_every' is at least 1, not {}", plan.recompute_every)};
  }
  if (plan.recompute_every > 1 && plan.recompute != Recompute::Full) {
    throw FieldError{"recompute_every",
                     "'recompute_every' chooses the layers that are recomputed: it needs 'recompute: full'"};
  }
  for (const auto& [key, is_on] : {std::pair{"recompute_synchronize", plan.recompute_synchronize},
                                   std::pair{"partition_activations", plan.partition_activations}}) {
    if (is_on && plan.recompute != Recompute::Full) {
      throw FieldError{
          key, fmt::format("'{}' is of checkpoints round whole layers: it needs 'recompute: full'", key)};
    }
  }
  if (!plan.recompute_last_stage && (plan.recompute == Recompute::None || plan.pipeline == 1)) {
    throw FieldError{"recompute_last_stage",
                     "'recompute_last_stage: false' excepts the last stage of a pipeline from 'recompute': "
                     "'pipeline' must be at least 2 and 'recompute' selective or full"};
  }
}

void check_rank_order(const std::string& rank_order) {
  std::string sorted = rank_order + "-";
  for (const std::string_view part : {"tp-", "cp-", "dp-", "pp-"}) {
    const auto at = sorted.find(part);
    if (at == std::string::npos) {
      sorted = "?";
      break;
    }
    sorted.erase(at, part.size());
  }
  if (!sorted.empty()) {
    throw FieldError{"rank_order", fmt::format("'{}' does not name tp, cp, dp and pp once each, as in "
                                               "tp-cp-dp-pp",
                                               rank_order)};
  }
}

}  // namespace

void TransformerPlanSpec::check() const {
  const auto degree = [](const char* key, int value) {
    if (value < 1) {
      throw FieldError{key, fmt::format("'{}' is at least 1, not {}", key, value)};
    }
  };
  const auto factor = [&](const char* key, int value) {  // of each other: products stay below 2^31
    constexpr int kMost = 10'000;
    degree(key, value);
    if (value > kMost) {
      throw FieldError{key, fmt::format("'{}' is at most {}, not {}", key, kMost, value)};
    }
  };
  factor("tensor", tensor);
  factor("pipeline", pipeline);
  factor("context", context);
  factor("expert", expert);
  factor("expert_tensor", expert_tensor);
  factor("chunks", chunks);
  degree("shard_group", shard_group.value_or(1));
  if (prefetch < 0) {
    throw FieldError{"prefetch", "'prefetch' is not negative; 0 gathers a layer when it is needed"};
  }
  if ((schedule == PipelineSchedule::Interleaved) != (chunks > 1)) {
    throw FieldError{"chunks", chunks > 1 ? "several chunks a stage need 'schedule: interleaved'"
                                          : "an interleaved schedule needs at least 2 chunks a stage"};
  }
  if (sequence_parallel && tensor == 1) {
    throw FieldError{"sequence_parallel",
                     "'sequence_parallel' shares tokens among tensor-parallel ranks: "
                     "'tensor' must be at least 2"};
  }
  if (tensor_overlap && !sequence_parallel) {
    throw FieldError{"tensor_overlap",
                     "'tensor_overlap' hides the gathers and sums of sequence parallelism: it needs "
                     "'sequence_parallel: true'"};
  }
  if (tensor_layers == TensorLayers::DTensor && (!sequence_parallel || tensor_overlap)) {
    throw FieldError{"tensor_layers",
                     "'tensor_layers: dtensor' gathers and scatters tokens for every product: it needs "
                     "'sequence_parallel: true' without 'tensor_overlap'"};
  }
  check_sharding(*this);
  check_stage_layers(*this);
  check_recomputation(*this);
  check_rank_order(rank_order);
}

}  // namespace lockstep
