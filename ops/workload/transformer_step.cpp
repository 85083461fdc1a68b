#include "ops/workload/transformer_step.hpp"

#include <fmt/format.h>

#include "ops/model_flops.hpp"
#include "ops/workload/element_count.hpp"
#include "ops/workload/layers/attention_masks.hpp"
#include "ops/workload/layers/classifier.hpp"
#include "ops/workload/layers/dropout.hpp"
#include "ops/workload/layers/kernels.hpp"
#include "ops/workload/layers/layer_norm.hpp"
#include "ops/workload/layers/linear.hpp"
#include "ops/workload/layers/relative_bias.hpp"
#include "ops/workload/layers/token_embedding.hpp"

namespace lockstep {
namespace {

bool is_v5(const StepWriter& step) {
  return step.framework().transformers == Transformers::V5;
}

/// The model's parameters, those of frozen parts apart. A tied output is the embedding's.
ModelParameters parameters_of_model(const TransformerSpec& spec, const FrozenParts& frozen) {
  ModelParameters all;
  const auto add = [&](const std::vector<std::int64_t>& parameters, ModelPart part, std::int64_t layer) {
    if (frozen.has(part, layer)) {
      all.frozen += elements_of(parameters);
    } else {
      all.trained.insert(all.trained.end(), parameters.begin(), parameters.end());
    }
  };
  add(spec.embedding_parameters(), ModelPart::Embedding, 0);
  const std::vector<std::int64_t> of_block = parameters_of(spec.block(1));
  for (std::int64_t layer = 0; layer < spec.layers; ++layer) {
    add(of_block, ModelPart::Layers, layer);
  }
  add(spec.head_parameters(), ModelPart::Head, 0);
  return all;
}

}  // namespace

TransformerStep::TransformerStep(StepWriter& step, const TransformerSpec& spec, const TrainingSetup& setup)
    : HuggingFaceStep{step, setup, local_batch(setup), parameters_of_model(spec, setup.frozen)},
      spec_{spec},
      lowest_{setup.frozen.lowest_reached(ModelPart::Layers, spec.layers,
                                          !setup.frozen.has(ModelPart::Embedding))},
      block_{spec.block(local_batch(setup))},
      loss_{.batch = block_.batch,
            .sequence = spec.classifies_samples() ? 1 : spec.sequence,
            .classes = spec.classes.value_or(spec.vocabulary),
            .shifted = spec.judges_next_tokens() && !is_v5(step),
            .cast_first = spec.is_plain() || (spec.judges_next_tokens() && is_v5(step)),
            .pads_labels = spec.judges_next_tokens() && is_v5(step)},
      memory_{spec, block_.batch, step.types(), step.framework()} {
  if (setup.parallelism.transformer.sharding != Sharding::None) {
    sharded_.emplace(step, spec, setup, ledger_);
  }
  if (step.framework().compile != Compile::None) {
    compiled_.emplace(step, spec, block_, loss_, is_training());
    compiled_->cut(setup.parallelism.buckets());
  }
}

/// transformers' modeling_gpt2.py: each layer's causal mask and the number that it puts in;
/// modeling_bert.py: positions and segments of one sample.
std::vector<ModuleBuffers> TransformerStep::buffers() const {
  if (spec_.is_plain()) {
    return {{.type = DataType::INT64, .elements = {spec_.positions}}};
  }
  const auto layers = static_cast<std::size_t>(spec_.layers);
  switch (spec_.family) {
    case TransformerFamily::Gpt:
      return {{.type = DataType::BOOL, .elements = std::vector(layers, spec_.positions * spec_.positions)},
              {.type = DataType::FP32, .elements = std::vector(layers, std::int64_t{1})}};
    case TransformerFamily::Bert:
      return {{.type = DataType::INT64, .elements = {spec_.positions, spec_.positions}}};
    case TransformerFamily::Opt:
      break;
  }
  return {};
}

std::int64_t TransformerStep::parameters_of_blocks() const {
  std::int64_t trained = 0;
  for (std::int64_t layer = 0; layer < spec_.layers; ++layer) {
    trained += trains(ModelPart::Layers, layer) ? 1 : 0;
  }
  return trained * elements_of(parameters_of(block_));
}

void TransformerStep::copy_inputs() {
  if (spec_.input_on_device) {
    return;
  }
  const Bytes tokens = static_cast<double>(block_.rows()) * size_of(DataType::INT64);
  // Tokens; BERT: segments, mask; labels.
  const int tensors = (is_bert() ? 3 : 1) + int{spec_.attention_mask} + int{is_training()};
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
    const MemoryUse use = layer < lowest_ ? MemoryUse::Workspace : MemoryUse::Activations;
    keep(use, recomputes(layer) ? memory_.input_of_block() : memory_.kept_by_block());
    keep(MemoryUse::Parameters, memory_.cast_weights_of_block());
    sharded_layer(layer, Direction::Forward, [&] { block_forward(step_, block_); });
    if (layer < lowest_) {  // autocast keeps no casts of frozen weights either
      free(MemoryUse::Parameters, memory_.cast_weights_of_block());
      free(use, recomputes(layer) ? memory_.input_of_block() : memory_.kept_by_block());
    }
  }
  head_forward();
}

void TransformerStep::embeddings_forward() {
  const ModuleRange module{step_, "embeddings"};
  const std::int64_t h = spec_.hidden;
  const bool trains_tables = trains(ModelPart::Embedding);
  const MemoryUse use = trains_tables ? MemoryUse::Activations : MemoryUse::Workspace;
  keep(use, memory_.kept_by_embeddings());
  step_.op(spec_.is_plain() ? "aten::slice" : "aten::view");
  if (is_opt()) {
    opt_positions_forward();
    if (!is_v5(step_)) {
      decoder_mask_forward();
    }
  } else if (!is_bert() && !spec_.is_plain()) {
    step_.op("aten::arange", {{"elementwise_kernel_with_index<arange>", DataType::INT64,
                               Pointwise{.elements = spec_.sequence, .reads = 0, .writes = 1, .flops = 1}}});
    step_.op("aten::unsqueeze");
  }
  if (spec_.attention_mask) {
    padding_mask_forward(step_, block_.rows());
  }
  if (is_v5(step_)) {
    masks_forward();
  }
  token_embedding_forward(step_, {.rows = spec_.vocabulary, .columns = h, .picks = block_.rows()});
  if (spec_.token_types > 0) {
    token_embedding_forward(step_, {.rows = spec_.token_types, .columns = h, .picks = block_.rows()});
    step_.op("aten::add", {kernels::add(block_.elements(), step_.types().model())});
  }
  token_embedding_forward(step_, {.rows = spec_.position_rows(), .columns = h, .picks = position_picks()});
  const double picked = static_cast<double>(position_picks()) / static_cast<double>(block_.rows());
  const auto add = picked < 1 ? kernels::by_offsets : kernels::elementwise;  // broadcast to all samples
  step_.op("aten::add", {add("add", block_.elements(), step_.types().model(), {.reads = 1 + picked})});
  if (is_bert()) {
    layer_norm_forward(step_, block_.rows(), h);
  }
  if (spec_.dropout && !is_opt()) {
    dropout_forward(step_, block_.elements(), step_.types().model());
  }
  if (!trains_tables) {
    free(use, memory_.kept_by_embeddings());
  }
}

/// Positions of tokens that are not padding (transformers, modeling_opt.py).
void TransformerStep::opt_positions_forward() {
  const auto small = [&](const char* name) {
    step_.op(name, {kernels::elementwise("mask", block_.rows(), DataType::INT64, {})});
  };
  for (const char* const name : {"aten::ones", "aten::cumsum", "aten::mul", "aten::sub", "aten::add"}) {
    small(name);
  }
}

/// Transformers 5's: none of an encoder without padding, nor of causal attention in one kernel.
void TransformerStep::masks_forward() {
  const AttentionMaskShape mask{.batch = block_.batch, .sequence = spec_.sequence, .padding = is_opt()};
  if (spec_.family == TransformerFamily::Gpt) {
    packed_samples_check(step_, mask);
  }
  if (!is_bert() && spec_.attention == AttentionKernels::Unfused) {
    attention_mask_forward(step_, mask);
  }
}

/// One mask for all heads: the causal one with the padding's (transformers 4, modeling_opt.py).
void TransformerStep::decoder_mask_forward() {
  const DataType type = step_.types().model();
  const std::int64_t one = spec_.sequence * spec_.sequence, all = block_.batch * one;
  step_.op("aten::full", {kernels::fill(one, type)});
  step_.op("aten::masked_fill_", {kernels::elementwise("masked_fill", one, type, {})});
  step_.op("aten::to", {kernels::cast(all, DataType::BOOL, type)});
  step_.op("aten::rsub", {kernels::scale(all, type)});
  step_.op("aten::masked_fill", {kernels::elementwise("masked_fill", all, type, {})});
  step_.op("aten::add", {kernels::add(all, type)});
}

LinearShape TransformerStep::output() const {
  return {.rows = block_.rows(),
          .in = spec_.hidden,
          .out = spec_.vocabulary,
          .bias = is_bert(),
          .in_views = spec_.is_plain()};
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
  linear_forward(step_, output(), true);
}

void TransformerStep::loss_forward() {
  if (!compiled_ || has_eager_loss()) {  // else part of the graph
    keep(MemoryUse::Workspace, memory_.loss_forward());
    cross_entropy_forward(step_, loss_);
    free(MemoryUse::Workspace, memory_.loss_forward());
  }
}

void TransformerStep::loss_and_model_backward(GradientSink& gradients) {
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
  if (sharded_) {
    sharded_->head_done();
  }
  allocate_gradients(trained_parameters() - parameters_of_blocks());  // the tied table's come first
  for (std::int64_t layer = spec_.layers; layer-- > lowest_;) {
    layer_backward(layer, gradients);
  }
  if (trains(ModelPart::Embedding)) {
    embeddings_backward(gradients);
    free(MemoryUse::Activations, memory_.kept_by_embeddings());
  }
}

void TransformerStep::layer_backward(std::int64_t layer, GradientSink& gradients) {
  const ModuleRange module{step_, fmt::format("layer {}", layer)};
  const bool input_gradient = layer > lowest_ || trains(ModelPart::Embedding);
  gradients.train(trains(ModelPart::Layers, layer));
  allocate_gradients(gradients.trains() ? elements_of(parameters_of(block_)) : 0);
  sharded_layer(layer, Direction::Backward, [&] {
    if (recomputes(layer)) {
      checkpointed_backward(gradients, input_gradient);
    } else {
      block_backward(step_, block_, gradients, input_gradient);
    }
  });
  gradients.train(true);
  free(MemoryUse::Parameters, memory_.cast_weights_of_block());
  free(MemoryUse::Activations, recomputes(layer) ? memory_.input_of_block() : memory_.kept_by_block());
}

/// A layer's pass, and round it what shares its parameters.
void TransformerStep::sharded_layer(std::int64_t layer, Direction direction,
                                    const std::function<void()>& pass) {
  if (!sharded_) {
    pass();
    return;
  }
  sharded_->begin_layer(layer, direction);
  {
    const std::optional<ModuleHooks> hooks = hooks_of_layer();
    pass();
  }
  sharded_->end_layer(layer, direction);
}

std::optional<ModuleHooks> TransformerStep::hooks_of_layer() const {
  return sharded_ ? std::optional<ModuleHooks>{std::in_place, sharded_->scope()} : std::nullopt;
}

/// torch.utils.checkpoint round each layer (transformers' gradient_checkpointing): the layer is computed
/// again from its input, autocast's casts of weights included. What the checkpoint itself costs the host is
/// not written.
void TransformerStep::checkpointed_backward(GradientSink& gradients, bool input_gradient) {
  keep(MemoryUse::Activations, memory_.kept_by_block());
  {
    const ModuleRange range{step_, kRecomputeRange};
    const bool stops = setup_.parallelism.transformer.recompute_early_stop;
    const std::optional<ModuleHooks> hooks = hooks_of_layer();
    (stops ? block_forward_again : block_forward)(step_, block_);
  }
  block_backward(step_, block_, gradients, input_gradient);
  free(MemoryUse::Activations, memory_.kept_by_block());
}

void TransformerStep::head_backward(GradientSink& gradients) {
  const ModuleRange module{step_, "head"};
  const std::int64_t h = spec_.hidden;
  const bool input_gradient = lowest_ < spec_.layers || trains(ModelPart::Embedding);
  const auto norm_backward = [&](bool goes_on) {
    goes_on ? layer_norm_backward(step_, block_.rows(), h, gradients, 0)
            : layer_norm_parameters_backward(step_, block_.rows(), h, gradients);
  };
  gradients.train(trains(ModelPart::Head));
  if (spec_.classes) {
    classifier_backward(step_, block_, spec_.classifier(), gradients);
    if (!is_bert()) {
      norm_backward(input_gradient);
    }
    gradients.train(true);
    return;
  }
  if (spec_.tied) {
    gradients.train(trains(ModelPart::Embedding));
    tied_output_backward(step_, output(), gradients);
    gradients.train(trains(ModelPart::Head));
  } else {
    linear_backward(step_, output(), gradients, true, true);
  }
  norm_backward(input_gradient || is_bert());
  if (is_bert()) {
    gelu_backward(step_, spec_.gelu, block_.elements());
    linear_backward(step_, {.rows = block_.rows(), .in = h, .out = h}, gradients, input_gradient, true);
  }
  gradients.train(true);
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
                           !spec_.classes && spec_.tied);
}

}  // namespace lockstep
