#include "ops/workload/encoder_decoder_step.hpp"

#include <fmt/format.h>

#include <numeric>

#include "ops/workload/layers/dropout.hpp"
#include "ops/workload/layers/kernels.hpp"
#include "ops/workload/layers/linear.hpp"
#include "ops/workload/layers/t5_norm.hpp"
#include "ops/workload/layers/token_embedding.hpp"

namespace lockstep {
namespace {

std::int64_t parameters_of_layer(const T5StackShape& stack, std::int64_t layer) {
  const std::vector<std::int64_t> all = parameters_of(stack, layer);
  return std::accumulate(all.begin(), all.end(), std::int64_t{0});
}

TokenEmbeddingShape embedding_of(const EncoderDecoderSpec& spec, const T5StackShape& stack) {
  return {.rows = spec.vocabulary, .columns = spec.hidden, .picks = stack.rows()};
}

LinearShape output_of(const EncoderDecoderSpec& spec, const T5StackShape& decoder) {
  return {.rows = decoder.rows(), .in = spec.hidden, .out = spec.vocabulary, .bias = false};
}

}  // namespace

EncoderDecoderStep::EncoderDecoderStep(StepWriter& step, const EncoderDecoderSpec& spec,
                                       const TrainingSetup& setup)
    : HuggingFaceStep{step, setup, local_batch(setup), {spec.parameters(), 0}},
      spec_{spec},
      encoder_{spec.encoder(local_batch(setup))},
      decoder_{spec.decoder(local_batch(setup))},
      loss_{.batch = decoder_.batch,
            .sequence = decoder_.sequence,
            .classes = spec.vocabulary,
            .shifted = false},
      memory_{spec, decoder_.batch, step.types()} {}

/// Tokens and which of them are padding; labels, or in an evaluation the decoder's tokens.
void EncoderDecoderStep::copy_inputs() {
  if (spec_.input_on_device) {
    return;
  }
  const auto copy =
      spec_.blocking_input_copies ? BatchLoader::Copy::Blocking : BatchLoader::Copy::NonBlocking;
  for (const std::int64_t rows : {encoder_.rows(), encoder_.rows(), decoder_.rows()}) {
    loader_.copy(static_cast<double>(rows) * size_of(DataType::INT64), copy);
  }
}

void EncoderDecoderStep::forward() {
  stack_forward(encoder_, "encoder");
  if (is_training()) {
    shift_labels();
  }
  stack_forward(decoder_, "decoder");
  head_forward();
  if (!is_training()) {
    free_caches();
  }
}

/// _shift_right(): labels are what the decoder is to write, its input begins one token earlier.
void EncoderDecoderStep::shift_labels() {
  const std::int64_t tokens = decoder_.rows();
  const auto small = [&](const char* name, const char* what) {
    step_.op(name, {kernels::elementwise(what, tokens, DataType::INT64, {})});
  };
  step_.op("aten::new_zeros", {kernels::fill(tokens, DataType::INT64)});
  small("aten::clone", "copy");
  small("aten::copy_", "copy");
  step_.op("aten::fill_", {kernels::fill(decoder_.batch, DataType::INT64)});
  small("aten::eq", "compare");
  small("aten::masked_fill_", "masked_fill");
}

void EncoderDecoderStep::embed(const T5StackShape& stack) {
  const ModuleRange module{step_, "embeddings"};
  step_.op("aten::view");
  token_embedding_forward(step_, embedding_of(spec_, stack));
  const bool is_v5 = step_.framework().transformers == Transformers::V5;  // makes masks of padding alone
  if (is_v5) {
    step_.op("aten::view");
  } else if (stack.is_decoder()) {
    causal_mask_forward(step_, stack.batch, stack.sequence);
    padding_mask_forward(step_, stack.batch * stack.encoded);
  } else {
    padding_mask_forward(step_, stack.rows());
  }
  if (stack.dropout) {
    dropout_forward(step_, stack.elements(), step_.types().model());
  }
}

/// In an evaluation nothing of a layer is kept but the bias of positions, and the decoder's keys and values.
void EncoderDecoderStep::stack_forward(const T5StackShape& stack, std::string_view name) {
  const ModuleRange module{step_, name};
  embed(stack);
  keep(is_training() ? MemoryUse::Activations : MemoryUse::Workspace, memory_.kept_by_stack(stack));
  for (std::int64_t layer = 0; layer < stack.layers; ++layer) {
    const ModuleRange range{step_, fmt::format("layer {}", layer)};
    keep(MemoryUse::Activations, memory_.kept_by_layer(stack, layer));
    keep(MemoryUse::Parameters, memory_.cast_weights_of_layer(stack, layer));
    if (!is_training() && stack.is_decoder()) {
      keep(MemoryUse::Workspace, memory_.cached_by_layer(stack));
    }
    t5_block_forward(step_, stack, layer);
  }
  keep(MemoryUse::Activations, memory_.kept_behind_stack(stack));
  t5_norm_forward(step_, stack.rows(), stack.hidden);
  if (stack.dropout) {
    dropout_forward(step_, stack.elements(), step_.types().model());
  }
}

/// Frees what stack_forward() kept, last first; autocast's weights go with them.
void EncoderDecoderStep::free_caches() {
  free(MemoryUse::Parameters, memory_.cast_weights_of_head());
  for (const T5StackShape* const stack : {&decoder_, &encoder_}) {
    for (std::int64_t layer = stack->layers; layer-- > 0;) {
      if (stack->is_decoder()) {
        free(MemoryUse::Workspace, memory_.cached_by_layer(*stack));
      }
      free(MemoryUse::Parameters, memory_.cast_weights_of_layer(*stack, layer));
    }
    free(MemoryUse::Workspace, memory_.kept_by_stack(*stack));
  }
}

void EncoderDecoderStep::head_forward() {
  const ModuleRange module{step_, "head"};
  keep(MemoryUse::Activations, memory_.kept_by_head());
  keep(MemoryUse::Parameters, memory_.cast_weights_of_head());
  if (spec_.tied) {  // by the root of the width
    step_.op("aten::mul", {kernels::scale(decoder_.elements(), step_.types().model())});
  }
  linear_forward(step_, output_of(spec_, decoder_), true);
  router_losses(false);
}

/// Losses of the stacks that have routers.
void EncoderDecoderStep::router_losses(bool backward) {
  for (const T5StackShape* const stack : {&encoder_, &decoder_}) {
    if (stack->sparse_layers() > 0) {
      (backward ? router_losses_backward : router_losses_forward)(step_, stack->experts(),
                                                                  stack->sparse_layers());
    }
  }
}

void EncoderDecoderStep::loss_forward() {
  keep(MemoryUse::Workspace, memory_.loss_forward());
  cross_entropy_forward(step_, loss_);
  free(MemoryUse::Workspace, memory_.loss_forward());
  if (spec_.experts) {  // both of encoder and decoder, times their weights, are added
    for (const char* const name :
         {"aten::add", "aten::mul", "aten::add", "aten::mul", "aten::add", "aten::add"}) {
      step_.op(name, {kernels::scale(1, DataType::FP32)});
    }
  }
}

void EncoderDecoderStep::loss_and_model_backward(GradientSink& gradients) {
  if (spec_.experts) {
    step_.op("MulBackward0", {kernels::scale(1, DataType::FP32)});
    step_.op("MulBackward0", {kernels::scale(1, DataType::FP32)});
  }
  keep(MemoryUse::Workspace, memory_.loss_backward());
  cross_entropy_backward(step_, loss_);
  free(MemoryUse::Workspace, memory_.loss_backward());
  router_losses(true);
  head_backward(gradients);
  free(MemoryUse::Parameters, memory_.cast_weights_of_head());
  free(MemoryUse::Activations, memory_.kept_by_head());
  stack_backward(decoder_, "decoder", gradients);
  stack_backward(encoder_, "encoder", gradients);
}

void EncoderDecoderStep::head_backward(GradientSink& gradients) {
  const ModuleRange module{step_, "head"};
  allocate_gradients(table());
  if (!spec_.tied) {
    linear_backward(step_, output_of(spec_, decoder_), gradients, true, true);
    return;
  }
  tied_output_backward(step_, output_of(spec_, decoder_), gradients);
  step_.op("MulBackward0", {kernels::scale(decoder_.elements(), step_.types().model())});
}

/// The token embedding is accumulated once, when the encoder's gradient has been added to the decoder's and,
/// where the output is tied, to its.
void EncoderDecoderStep::stack_backward(const T5StackShape& stack, std::string_view name,
                                        GradientSink& gradients) {
  const ModuleRange module{step_, name};
  const DataType type = step_.types().model();
  if (stack.dropout) {
    dropout_backward(step_, stack.elements(), type);
  }
  t5_norm_backward(step_, stack.rows(), stack.hidden, gradients, 0);
  free(MemoryUse::Activations, memory_.kept_behind_stack(stack));
  allocate_gradients(stack.hidden);
  for (std::int64_t layer = stack.layers; layer-- > 0;) {
    const ModuleRange range{step_, fmt::format("layer {}", layer)};
    allocate_gradients(parameters_of_layer(stack, layer));
    t5_block_backward(step_, stack, layer, gradients);
    free(MemoryUse::Parameters, memory_.cast_weights_of_layer(stack, layer));
    free(MemoryUse::Activations, memory_.kept_by_layer(stack, layer));
  }
  free(MemoryUse::Activations, memory_.kept_by_stack(stack));
  if (stack.dropout) {
    dropout_backward(step_, stack.elements(), type);
  }
  if (!spec_.tied && stack.is_decoder()) {
    allocate_gradients(table());  // else the output's came first
  }
  token_embedding_gradient(step_, embedding_of(spec_, stack), step_.types().model());
  if (spec_.tied || !stack.is_decoder()) {
    step_.op("aten::add", {kernels::add(table(), type)});
  }
  if (!stack.is_decoder()) {
    gradients.accumulate(table());
  }
}

}  // namespace lockstep
