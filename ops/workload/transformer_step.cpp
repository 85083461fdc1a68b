#include "ops/workload/transformer_step.hpp"

#include <fmt/format.h>

#include <numeric>

#include "ops/workload/apex.hpp"
#include "ops/workload/layers/classifier.hpp"
#include "ops/workload/layers/dropout.hpp"
#include "ops/workload/layers/kernels.hpp"
#include "ops/workload/layers/layer_norm.hpp"
#include "ops/workload/layers/linear.hpp"
#include "ops/workload/layers/token_embedding.hpp"
#include "ops/workload/loss_scaling.hpp"
#include "ops/workload/master_weights.hpp"
#include "ops/workload/module_buffers.hpp"
#include "ops/workload/optimizer_step.hpp"

namespace lockstep {
namespace {

constexpr DataType kLoss = DataType::FP32;

std::int64_t elements_of(const std::vector<std::int64_t>& parameters) {
  return std::accumulate(parameters.begin(), parameters.end(), std::int64_t{0});
}

/// transformers' modeling_gpt2.py: each layer's causal mask and the number that it puts in;
/// modeling_bert.py: positions and segments of one sample.
std::vector<ModuleBuffers> buffers_of(const TransformerSpec& model) {
  const auto layers = static_cast<std::size_t>(model.layers);
  switch (model.family) {
    case TransformerFamily::Gpt:
      return {{.type = DataType::BOOL, .elements = std::vector(layers, model.positions * model.positions)},
              {.type = DataType::FP32, .elements = std::vector(layers, std::int64_t{1})}};
    case TransformerFamily::Bert:
      return {{.type = DataType::INT64, .elements = {model.positions, model.positions}}};
    case TransformerFamily::Opt:
      break;
  }
  return {};
}

}  // namespace

TransformerStep::TransformerStep(StepWriter& step, const TransformerSpec& spec, const TrainingSetup& setup)
    : step_{step},
      spec_{spec},
      setup_{setup},
      block_{spec.block(setup.global_batch / static_cast<std::int64_t>(step.ranks()) /
                        setup.gradient_accumulation)},
      loss_{.batch = block_.batch,
            .sequence = spec.classes ? 1 : spec.sequence,
            .classes = spec.classes.value_or(spec.vocabulary),
            .shifted = !is_bert() && !spec.classes && spec.shifts_logits},
      parameters_{spec.parameters()},
      memory_{spec, block_.batch, step.types(), step.framework()},
      calls_{step},
      loader_{step, setup, block_.batch} {
  if (step.framework().compile != Compile::None) {
    compiled_.emplace(step, spec, block_, loss_, is_training());
    compiled_->cut(setup.parallelism.buckets());
  }
}

/// Parameters, moments and master weights, DistributedDataParallel's buckets; gradients where they
/// outlive a step.
void TransformerStep::allocate_states() {
  const auto all = static_cast<double>(elements_of(parameters_));
  const Bytes one = size_of(step_.types().model()) * all;
  ledger_.allocate(MemoryUse::Parameters, one);
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

void TransformerStep::allocate_gradients(std::int64_t elements) {
  if (first_backward_) {
    ledger_.allocate(MemoryUse::Gradients, size_of(step_.types().model()) * static_cast<double>(elements));
  }
}

std::int64_t TransformerStep::parameters_of_blocks() const {
  return spec_.layers * elements_of(parameters_of(block_));
}

void TransformerStep::write() {
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
  if (optimizes) {
    zero_gradients(step_, setup_.optimizer.kind, parameters_);
  }
  GradientBuckets buckets{step_, setup_.parallelism.buckets(), parameters_.size()};
  for (int index = 0; index < setup_.gradient_accumulation; ++index) {
    micro_batch(index, buckets);
  }
  if (optimizes) {
    update();
  }
  calls_.end_step();
}

void TransformerStep::micro_batch(int index, GradientBuckets& buckets) {
  const bool is_last = index + 1 == setup_.gradient_accumulation;
  loader_.next();
  {
    const ModuleRange phase{step_, "forward"};
    copy_inputs();
    if (index == 0) {
      broadcast_buffers(step_, buffers_of(spec_));
    }
    forward();
    loss();
  }
  const ModuleRange phase{step_, "backward"};
  const bool has_gradients =
      setup_.phases != Phases::Step ||
      (!unscales_at_once() && (step_.framework().zero_gradients || index > 0));  // else grad = None before
  GradientSink gradients{step_, is_last ? &buckets : nullptr, has_gradients};
  step_.op("aten::ones_like", {kernels::fill(1, kLoss)});
  step_.on_autograd_thread([&] {
    const ModuleRange range{step_, "backward"};
    backward(gradients);
    if (is_last) {
      buckets.finish();
    }
  });
  first_backward_ = false;
  if (unscales_at_once()) {
    unscale(index);
  }
}

/// FP32 gradients live from the first backward pass to the update.
void TransformerStep::unscale(int index) {
  const ModuleRange phase{step_, "unscale"};
  if (index == 0) {
    ledger_.allocate(MemoryUse::Gradients,
                     size_of(step_.types().optimizer()) * static_cast<double>(elements_of(parameters_)));
  }
  unscale_into_master_gradients(step_, parameters_, index > 0);
}

/// An evaluation holds at most what the same operators keep for backward, and frees it behind them.
void TransformerStep::keep(MemoryUse use, const Tensors& tensors) {
  const bool is_freed = use == MemoryUse::Activations && !is_training();
  const MemoryUse counted = is_freed ? MemoryUse::Workspace : use;
  ledger_.allocate(counted, total(tensors));
  calls_.keep(tensors);
  if (is_freed) {
    free(counted, tensors);
  }
}

void TransformerStep::free(MemoryUse use, const Tensors& tensors) {
  ledger_.release(use, total(tensors));
  calls_.release();
}

void TransformerStep::copy_inputs() {
  const Bytes tokens = static_cast<double>(block_.rows()) * size_of(DataType::INT64);
  const int tensors = (is_bert() ? 3 : 1) + (is_training() ? 1 : 0);  // tokens; BERT: segments, mask; labels
  for (int tensor = 0; tensor < tensors; ++tensor) {
    loader_.copy(tokens,
                 spec_.blocking_input_copies ? BatchLoader::Copy::Blocking : BatchLoader::Copy::NonBlocking);
  }
}

void TransformerStep::forward() {
  if (compiled_) {
    compiled_forward();
    return;
  }
  embeddings_forward();
  for (std::int64_t layer = 0; layer < spec_.layers; ++layer) {
    const ModuleRange module{step_, fmt::format("layer {}", layer)};
    keep(MemoryUse::Activations, memory_.kept_by_block());
    keep(MemoryUse::Parameters, memory_.cast_weights_of_block());
    block_forward(step_, block_);
  }
  head_forward();
}

void TransformerStep::embeddings_forward() {
  const ModuleRange module{step_, "embeddings"};
  const std::int64_t h = spec_.hidden;
  keep(MemoryUse::Activations, memory_.kept_by_embeddings());
  step_.op("aten::view");
  if (is_opt()) {
    decoder_mask_forward();
  } else if (!is_bert()) {
    step_.op("aten::arange", {{"elementwise_kernel_with_index<arange>", DataType::INT64,
                               Pointwise{.elements = spec_.sequence, .reads = 0, .writes = 1, .flops = 1}}});
    step_.op("aten::unsqueeze");
  }
  token_embedding_forward(step_, {.rows = spec_.vocabulary, .columns = h, .picks = block_.rows()});
  if (spec_.token_types > 0) {
    token_embedding_forward(step_, {.rows = spec_.token_types, .columns = h, .picks = block_.rows()});
    step_.op("aten::add", {kernels::add(block_.elements(), step_.types().model())});
  }
  token_embedding_forward(step_, {.rows = spec_.position_rows(), .columns = h, .picks = position_picks()});
  step_.op("aten::add", {kernels::elementwise("add", block_.elements(), step_.types().model(),
                                              {.reads = 1 + static_cast<double>(position_picks()) /
                                                                static_cast<double>(block_.rows())})});
  if (is_bert()) {
    layer_norm_forward(step_, block_.rows(), h);
  }
  if (spec_.dropout && !is_opt()) {
    dropout_forward(step_, block_.elements(), step_.types().model());
  }
}

/// Positions of tokens that are not padding, and one mask for all heads: the causal one with the padding's
/// (transformers, modeling_opt.py).
void TransformerStep::decoder_mask_forward() {
  const auto small = [&](const char* name) {
    step_.op(name, {kernels::elementwise("mask", block_.rows(), DataType::INT64, {})});
  };
  for (const char* const name : {"aten::ones", "aten::cumsum", "aten::mul", "aten::sub", "aten::add"}) {
    small(name);
  }
  const DataType type = step_.types().model();
  const std::int64_t one = spec_.sequence * spec_.sequence, all = block_.batch * one;
  step_.op("aten::full", {kernels::fill(one, type)});
  step_.op("aten::masked_fill_", {kernels::elementwise("masked_fill", one, type, {})});
  step_.op("aten::to", {kernels::cast(all, DataType::BOOL, type)});
  step_.op("aten::rsub", {kernels::scale(all, type)});
  step_.op("aten::masked_fill", {kernels::elementwise("masked_fill", all, type, {})});
  step_.op("aten::add", {kernels::add(all, type)});
}

void TransformerStep::head_forward() {
  const ModuleRange module{step_, "head"};
  const std::int64_t h = spec_.hidden;
  keep(MemoryUse::Activations, memory_.kept_by_head());
  keep(MemoryUse::Parameters, memory_.cast_weights_of_head());
  if (spec_.classes) {
    if (!is_bert()) {
      layer_norm_forward(step_, block_.rows(), h);
    }
    classifier_forward(step_, block_, spec_.classifier());
    return;
  }
  if (is_bert()) {
    linear_forward(step_, {.rows = block_.rows(), .in = h, .out = h}, true);
    gelu_forward(step_, spec_.gelu, block_.elements());
  }
  layer_norm_forward(step_, block_.rows(), h);
  linear_forward(step_, {.rows = block_.rows(), .in = h, .out = spec_.vocabulary, .bias = is_bert()}, true);
}

void TransformerStep::loss() {
  const ModuleRange module{step_, "loss"};
  if (!compiled_) {  // else part of the graph
    keep(MemoryUse::Workspace, memory_.loss_forward());
    cross_entropy_forward(step_, loss_);
    free(MemoryUse::Workspace, memory_.loss_forward());
  }
  if (setup_.gradient_accumulation > 1) {
    step_.op("aten::div", {kernels::scale(1, kLoss)});
  }
  if (scales_loss()) {
    scale_loss_forward(step_);
  }
  if (spec_.loss_readback) {
    step_.blocking_copy("aten::item", kernels::copy_to_host(size_of(kLoss), false));
  }
}

void TransformerStep::backward(GradientSink& gradients) {
  if (scales_loss()) {
    scale_loss_backward(step_);
  }
  if (setup_.gradient_accumulation > 1) {
    step_.op("DivBackward0", {kernels::scale(1, kLoss)});
  }
  if (compiled_) {
    compiled_backward(gradients);
    return;
  }
  keep(MemoryUse::Workspace, memory_.loss_backward());
  cross_entropy_backward(step_, loss_);
  free(MemoryUse::Workspace, memory_.loss_backward());
  head_backward(gradients);
  free(MemoryUse::Parameters, memory_.cast_weights_of_head());
  free(MemoryUse::Activations, memory_.kept_by_head());
  allocate_gradients(elements_of(parameters_) - parameters_of_blocks());  // the tied table's come first
  for (std::int64_t layer = spec_.layers; layer-- > 0;) {
    const ModuleRange module{step_, fmt::format("layer {}", layer)};
    allocate_gradients(elements_of(parameters_of(block_)));
    block_backward(step_, block_, gradients);
    free(MemoryUse::Parameters, memory_.cast_weights_of_block());
    free(MemoryUse::Activations, memory_.kept_by_block());
  }
  embeddings_backward(gradients);
  free(MemoryUse::Activations, memory_.kept_by_embeddings());
}

void TransformerStep::head_backward(GradientSink& gradients) {
  const ModuleRange module{step_, "head"};
  const std::int64_t h = spec_.hidden;
  if (spec_.classes) {
    classifier_backward(step_, block_, spec_.classifier(), gradients);
    if (!is_bert()) {
      layer_norm_backward(step_, block_.rows(), h, gradients, 0);
    }
    return;
  }
  tied_output_backward(step_, {.rows = block_.rows(), .in = h, .out = spec_.vocabulary, .bias = is_bert()},
                       gradients);
  layer_norm_backward(step_, block_.rows(), h, gradients, 0);
  if (is_bert()) {
    gelu_backward(step_, spec_.gelu, block_.elements());
    linear_backward(step_, {.rows = block_.rows(), .in = h, .out = h}, gradients, true, true);
  }
}

void TransformerStep::embeddings_backward(GradientSink& gradients) {
  const ModuleRange module{step_, "embeddings"};
  const std::int64_t h = spec_.hidden;
  if (spec_.dropout && !is_opt()) {
    dropout_backward(step_, block_.elements(), step_.types().model());
  }
  if (is_bert()) {
    layer_norm_backward(step_, block_.rows(), h, gradients, 0);
  }
  step_.op("AddBackward0");
  if (position_picks() < block_.rows()) {  // all samples share the position embeddings
    step_.op(
        "aten::sum",
        {kernels::reduce("sum", {.rows = block_.batch, .columns = spec_.sequence * h, .across_rows = true},
                         step_.types().model())});
  }
  token_embedding_backward(step_, {.rows = spec_.position_rows(), .columns = h, .picks = position_picks()},
                           gradients, false);
  if (spec_.token_types > 0) {
    token_embedding_backward(step_, {.rows = spec_.token_types, .columns = h, .picks = block_.rows()},
                             gradients, false);
  }
  token_embedding_backward(step_, {.rows = spec_.vocabulary, .columns = h, .picks = block_.rows()}, gradients,
                           !spec_.classes);
}

void TransformerStep::update() {
  const ModuleRange phase{step_, "optimizer"};
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
  const Bytes one = size_of(step_.types().optimizer()) * static_cast<double>(elements_of(parameters_));
  const Bytes extra = one * (int{makes_roots} + int{has_master_weights && !unscales_at_once()});
  ledger_.allocate(MemoryUse::Workspace, extra);
  optimizer_step(step_, setup_.optimizer, parameters_,
                 [&](std::int64_t elements) { return spec_.is_matrix(elements); });
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
