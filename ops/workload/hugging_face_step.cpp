#include "ops/workload/hugging_face_step.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <stdexcept>
#include <utility>

#include "base/yaml_value.hpp"
#include "ops/workload/apex.hpp"
#include "ops/workload/element_count.hpp"
#include "ops/workload/layers/kernels.hpp"
#include "ops/workload/loss_scaling.hpp"
#include "ops/workload/master_weights.hpp"
#include "ops/workload/optimizer_step.hpp"

namespace lockstep {
namespace {

constexpr DataType kLoss = DataType::FP32;

/// `'tensor', 'pipeline'`: the keys that are not what they are by default.
std::string names_of_changes(const TransformerPlanSpec& plan) {
  std::vector<std::string> names;
  for (const YamlEntry& entry : changes_of(plan).entries) {
    names.push_back(fmt::format("'{}'", entry.key));
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

/// Resets the keys that ShardedModules writes.
void leave_out_sharding(TransformerPlanSpec& plan) {
  const TransformerPlanSpec defaults;
  plan.sharding = defaults.sharding;
  plan.shard_group = defaults.shard_group;
  plan.reshard_after_forward = defaults.reshard_after_forward;
  plan.prefetch = defaults.prefetch;
  plan.zero3_implementation = defaults.zero3_implementation;
  plan.reduce_each_micro_batch = defaults.reduce_each_micro_batch;
  plan.overlap_gradients = defaults.overlap_gradients;
  plan.fp32_gradients = defaults.fp32_gradients;
}

}  // namespace

void check_hugging_face(const TrainingSetup& setup, bool is_in_layers) {
  TransformerPlanSpec plan = setup.parallelism.transformer;
  const Recompute recompute = std::exchange(plan.recompute, Recompute::None);
  if (recompute != Recompute::None && (recompute != Recompute::Full || !is_in_layers)) {
    throw std::invalid_argument{fmt::format(
        "'recompute: {}' is not written for this model: 'full' (gradient_checkpointing) is for GPT-2, BERT "
        "and OPT of 'implementation: hugging_face', and for 'hugging_face_llama'",
        name_of(recompute))};
  }
  if (recompute != Recompute::None && setup.framework.compile != Compile::None) {
    throw std::invalid_argument{
        "'recompute: full' of Hugging Face's models is eager: leave it, or 'framework: { compile: ... }', "
        "out"};
  }
  if (recompute == Recompute::Full) {
    plan.recompute_early_stop = false;
    plan.recompute_every = 1;
  }
  const bool is_sharded = is_in_layers && plan.sharding != Sharding::None;
  if (is_sharded) {
    leave_out_sharding(plan);
  }
  const std::string others = names_of_changes(plan);
  if (!others.empty()) {
    throw std::invalid_argument{
        fmt::format("Hugging Face's models are trained data-parallel with DistributedDataParallel, or "
                    "sharded ('sharding' of GPT-2, BERT and OPT, without offload): {} need{} a model with "
                    "'implementation: megatron' (or hugging_face_llama, nanotron, torchtitan)",
                    others, others.find(',') == std::string::npos ? "s" : "")};
  }
  if (setup.precision == Precision::FP8) {
    throw std::invalid_argument{
        "fp8 is that of Transformer Engine's layers: it needs a model with 'implementation: megatron'"};
  }
  if (setup.mixed_precision != MixedPrecision::Autocast && !is_mixed(setup.precision)) {
    throw std::invalid_argument{fmt::format(
        "mixed_precision: {} needs 'precision: fp16' or 'precision: bf16'", name_of(setup.mixed_precision))};
  }
  if (setup.framework.apex && is_mixed(setup.precision) &&
      setup.mixed_precision != MixedPrecision::MasterWeights) {
    throw std::invalid_argument{fmt::format(
        "framework.apex: true trains in 16 bits as amp's O2 does, not with mixed_precision: {}; set "
        "'mixed_precision: master_weights'",
        name_of(setup.mixed_precision))};
  }
  if (is_sharded) {
    check_sharded_modules(setup);
  }
  const auto ranks = static_cast<std::int64_t>(setup.gpus.size());
  const std::int64_t shares = ranks * setup.gradient_accumulation;
  if (setup.global_batch < shares || setup.global_batch % shares != 0) {
    throw std::invalid_argument{
        fmt::format("global_batch {} cannot be divided evenly among {} GPUs x {} micro-batches",
                    setup.global_batch, ranks, setup.gradient_accumulation)};
  }
}

std::int64_t local_batch(const TrainingSetup& setup) {
  return setup.global_batch / static_cast<std::int64_t>(setup.gpus.size()) / setup.gradient_accumulation;
}

HuggingFaceStep::HuggingFaceStep(StepWriter& step, const TrainingSetup& setup, std::int64_t batch,
                                 ModelParameters parameters)
    : step_{step},
      setup_{setup},
      ledger_{step.program()},
      calls_{step},
      loader_{step, setup, batch},
      parameters_{std::move(parameters.trained)},
      frozen_parameters_{parameters.frozen} {}

std::int64_t HuggingFaceStep::trained_parameters() const {
  return elements_of(parameters_);
}

/// Parameters, moments and master weights, DistributedDataParallel's buckets; gradients where they
/// outlive a step.
void HuggingFaceStep::allocate_states() {
  if (sharded_) {
    sharded_->allocate_states();
    first_backward_ = false;
    return;
  }
  const auto all = static_cast<double>(trained_parameters());
  const Bytes one = size_of(step_.types().model()) * all;
  ledger_.allocate(MemoryUse::Parameters,
                   one + size_of(step_.types().model()) * static_cast<double>(frozen_parameters_));
  if (!is_training()) {
    return;
  }
  const bool optimizes = setup_.phases == Phases::Step;
  const double states = setup_.optimizer.states() + (step_.types().has_master_weights() ? 1 : 0);
  ledger_.allocate(MemoryUse::Optimizer,
                   size_of(step_.types().optimizer()) * all * (optimizes ? states : 0.0));
  const bool buckets_hold_gradients = step_.framework().gradient_as_bucket_view;
  if (step_.ranks() > 1 && !buckets_hold_gradients) {
    ledger_.allocate(MemoryUse::Communication, one);
  }
  if (!optimizes || step_.framework().zero_gradients || (step_.ranks() > 1 && buckets_hold_gradients)) {
    ledger_.allocate(MemoryUse::Gradients, one);
    first_backward_ = false;
  }
}

void HuggingFaceStep::allocate_gradients(std::int64_t elements) {
  if (first_backward_) {
    ledger_.allocate(MemoryUse::Gradients, size_of(step_.types().model()) * static_cast<double>(elements));
  }
}

void HuggingFaceStep::write() {
  loader_.begin_step(setup_.gradient_accumulation);
  allocate_states();
  if (!is_training()) {
    loader_.next();
    const ModuleRange phase{step_, "forward"};
    copy_inputs();
    forward();
    calls_.end_step();
    return;
  }
  const bool optimizes = setup_.phases == Phases::Step;
  if (optimizes && !sharded_) {
    zero_gradients(step_, setup_.optimizer.kind, parameters_);
  }
  for (int index = 0; index < setup_.gradient_accumulation; ++index) {
    micro_batch(index);
    if (index + 1 == setup_.gradient_accumulation && optimizes) {
      update();
    }
    if (step_.framework().synchronize) {
      step_.program().wait_device();
    }
  }
  calls_.end_step();
}

void HuggingFaceStep::micro_batch(int index) {
  const bool reduces = index + 1 == setup_.gradient_accumulation || !step_.framework().no_sync;
  GradientBuckets buckets{step_, setup_.parallelism.buckets(), parameters_.size()};
  loader_.next();
  {
    const ModuleRange phase{step_, "forward"};
    copy_inputs();
    if (sharded_) {
      sharded_->begin_forward();
    } else if (index == 0 || !step_.framework().no_sync) {
      broadcast_buffers(step_, this->buffers());
    }
    forward();
    loss();
  }
  if (sharded_) {
    sharded_backward(index);
    return;
  }
  const ModuleRange phase{step_, "backward"};
  const bool has_gradients =
      setup_.phases != Phases::Step ||
      (!unscales_at_once() && (step_.framework().zero_gradients || index > 0));  // else grad = None before
  GradientSink gradients{step_, reduces ? &buckets : nullptr, has_gradients};
  step_.op("aten::ones_like", {kernels::fill(1, kLoss)});
  step_.on_autograd_thread([&] {
    const ModuleRange range{step_, "backward"};
    backward(gradients);
    if (reduces) {
      buckets.finish();
    }
  });
  first_backward_ = false;
  if (unscales_at_once()) {
    unscale(index);
  }
}

void HuggingFaceStep::sharded_backward(int index) {
  const ModuleRange phase{step_, "backward"};
  GradientSink gradients{step_, sharded_->gradients()};
  step_.op("aten::ones_like", {kernels::fill(1, kLoss)});
  step_.on_autograd_thread([&] {
    const ModuleRange range{step_, "backward"};
    sharded_->begin_backward(index);
    backward(gradients);
    sharded_->end_backward(index);
  });
}

/// FP32 gradients live from the first backward pass to the update.
void HuggingFaceStep::unscale(int index) {
  const ModuleRange phase{step_, "unscale"};
  if (index == 0) {
    ledger_.allocate(MemoryUse::Gradients,
                     size_of(step_.types().optimizer()) * static_cast<double>(trained_parameters()));
  }
  unscale_into_master_gradients(step_, parameters_, index > 0);
}

/// An evaluation holds at most what the same operators keep for backward, and frees it behind them.
void HuggingFaceStep::keep(MemoryUse use, const Tensors& tensors) {
  const bool is_freed = use == MemoryUse::Activations && !is_training();
  const MemoryUse counted = is_freed ? MemoryUse::Workspace : use;
  ledger_.allocate(counted, total(tensors));
  calls_.keep(tensors);
  if (is_freed) {
    free(counted, tensors);
  }
}

void HuggingFaceStep::free(MemoryUse use, const Tensors& tensors) {
  ledger_.release(use, total(tensors));
  calls_.release();
}

void HuggingFaceStep::loss() {
  const ModuleRange module{step_, "loss"};
  loss_forward();
  if (setup_.gradient_accumulation > 1) {
    step_.op("aten::div", {kernels::scale(1, kLoss)});
  }
  if (scales_loss()) {
    scale_loss_forward(step_);
  }
  if (reads_loss()) {
    step_.blocking_copy("aten::item", kernels::copy_to_host(size_of(kLoss), false));
  }
}

void HuggingFaceStep::backward(GradientSink& gradients) {
  if (scales_loss()) {
    scale_loss_backward(step_);
  }
  if (setup_.gradient_accumulation > 1) {
    step_.op("DivBackward0", {kernels::scale(1, kLoss)});
  }
  loss_and_model_backward(gradients);
}

void HuggingFaceStep::update() {
  const ModuleRange phase{step_, "optimizer"};
  if (sharded_) {
    sharded_->update();
    return;
  }
  const bool by_scaler = scales_loss() && !unscales_at_once();  // torch.cuda.amp.GradScaler
  const bool has_master_weights = step_.types().has_master_weights();
  if (by_scaler) {
    unscale_gradients(step_, parameters_);
  } else if (has_master_weights && !unscales_at_once()) {
    widen_gradients(step_, parameters_);
  }
  if (setup_.clip_gradients) {
    step_.framework().apex ? clip_gradients_with_apex(step_, parameters_)
                           : clip_gradients(step_, parameters_);
  }
  const bool makes_roots = setup_.optimizer.kind == Optimizer::AdamW &&
                           step_.framework().optimizer == OptimizerStyle::MultiTensor;  // of second moments
  const Bytes one = size_of(step_.types().optimizer()) * static_cast<double>(trained_parameters());
  const Bytes extra = one * (int{makes_roots} + int{has_master_weights && !unscales_at_once()});
  ledger_.allocate(MemoryUse::Workspace, extra);
  optimizer_step(step_, setup_.optimizer, parameters_,
                 [&](std::int64_t elements) { return is_matrix(elements); });
  if (has_master_weights) {
    copy_master_weights(step_, parameters_);
  }
  ledger_.release(MemoryUse::Workspace, extra);
  if (unscales_at_once()) {
    ledger_.release(MemoryUse::Gradients, one);
  }
  if (by_scaler) {
    update_scale(step_);
  }
}

}  // namespace lockstep
