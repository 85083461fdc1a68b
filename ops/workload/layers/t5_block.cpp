#include "ops/workload/layers/t5_block.hpp"

#include <initializer_list>

#include "ops/workload/layers/dropout.hpp"
#include "ops/workload/layers/kernels.hpp"
#include "ops/workload/layers/t5_norm.hpp"
#include "ops/workload/layers/transformer_block.hpp"

namespace lockstep {
namespace {

/// Experts' results come in the model's type, products' in their own.
DataType result_type(const StepWriter& step, bool is_sparse) {
  return is_sparse ? step.types().model() : storage_type(step.precision());
}

void leave(StepWriter& step, const T5StackShape& stack, bool is_sparse) {
  if (stack.dropout) {
    dropout_forward(step, stack.elements(), result_type(step, is_sparse));
  }
  residual_add_forward(step, stack.elements());
}

void enter_backward(StepWriter& step, const T5StackShape& stack, bool is_sparse) {
  residual_add_backward(step, stack.elements());
  if (stack.dropout) {
    dropout_backward(step, stack.elements(), result_type(step, is_sparse));
  }
}

T5AttentionPlace place_of(const T5StackShape& stack, std::int64_t layer) {
  return {.first = layer == 0, .last = layer + 1 == stack.layers};
}

void attention_block_forward(StepWriter& step, const T5StackShape& stack, const T5AttentionShape& shape,
                             std::int64_t layer) {
  const ModuleRange module{step, shape.cross ? "cross attention" : "attention"};
  t5_norm_forward(step, stack.rows(), stack.hidden);
  t5_attention_forward(step, shape, place_of(stack, layer));
  leave(step, stack, false);
}

void attention_block_backward(StepWriter& step, const T5StackShape& stack, const T5AttentionShape& shape,
                              std::int64_t layer, GradientSink& gradients) {
  const ModuleRange module{step, shape.cross ? "cross attention" : "attention"};
  enter_backward(step, stack, false);
  t5_attention_backward(step, shape, place_of(stack, layer), gradients);
  t5_norm_backward(step, stack.rows(), stack.hidden, gradients, 1);
}

void append(std::vector<std::int64_t>& all, std::initializer_list<std::int64_t> more) {
  all.insert(all.end(), more);
}

}  // namespace

bool T5StackShape::is_sparse(std::int64_t layer) const {
  return routing && routing->every > 0 && (routing->every == 1 || layer % routing->every == 1);
}

std::int64_t T5StackShape::sparse_layers() const {
  std::int64_t sparse = 0;
  for (std::int64_t layer = 0; layer < layers; ++layer) {
    sparse += is_sparse(layer) ? 1 : 0;
  }
  return sparse;
}

T5AttentionShape T5StackShape::self_attention() const {
  return {.batch = batch,
          .queries = sequence,
          .keys = sequence,
          .hidden = hidden,
          .heads = heads,
          .head_size = head_size,
          .buckets = buckets,
          .causal = is_decoder(),
          .dropout = dropout,
          .kernels = cross_kernels};
}

T5AttentionShape T5StackShape::cross_attention() const {
  T5AttentionShape shape = self_attention();
  shape.keys = encoded;
  shape.causal = false;
  shape.cross = true;
  return shape;
}

T5FeedForwardShape T5StackShape::dense() const {
  return {.rows = rows(), .hidden = hidden, .width = feed_forward, .gated = gated, .dropout = dropout};
}

SwitchExpertsShape T5StackShape::experts() const {
  const SwitchRouting& all = routing.value();
  return {.batch = batch,
          .sequence = sequence,
          .hidden = hidden,
          .width = feed_forward,
          .count = all.count,
          .capacity = all.capacity,
          .chosen = all.chosen,
          .jitter = all.jitter,
          .dropout = dropout};
}

void t5_block_forward(StepWriter& step, const T5StackShape& stack, std::int64_t layer) {
  attention_block_forward(step, stack, stack.self_attention(), layer);
  if (stack.is_decoder()) {
    attention_block_forward(step, stack, stack.cross_attention(), layer);
  }
  const bool is_sparse = stack.is_sparse(layer);
  const ModuleRange module{step, is_sparse ? "experts" : "mlp"};
  t5_norm_forward(step, stack.rows(), stack.hidden);
  if (is_sparse) {
    switch_experts_forward(step, stack.experts());
  } else {
    t5_feed_forward_forward(step, stack.dense());
  }
  if (stack.routing && !is_sparse) {  // in place of a router's scores
    step.op("aten::zeros", {kernels::fill(1, DataType::INT64)});
  }
  leave(step, stack, is_sparse);
}

void t5_block_backward(StepWriter& step, const T5StackShape& stack, std::int64_t layer,
                       GradientSink& gradients) {
  const bool is_sparse = stack.is_sparse(layer);
  {
    const ModuleRange module{step, is_sparse ? "experts" : "mlp"};
    enter_backward(step, stack, is_sparse);
    if (is_sparse) {
      switch_experts_backward(step, stack.experts(), gradients);
    } else {
      t5_feed_forward_backward(step, stack.dense(), gradients);
    }
    t5_norm_backward(step, stack.rows(), stack.hidden, gradients, 1);
  }
  if (stack.is_decoder()) {
    attention_block_backward(step, stack, stack.cross_attention(), layer, gradients);
  }
  attention_block_backward(step, stack, stack.self_attention(), layer, gradients);
}

std::vector<std::int64_t> parameters_of(const T5StackShape& stack, std::int64_t layer) {
  const std::int64_t h = stack.hidden, inner = stack.heads * stack.head_size, f = stack.feed_forward;
  std::vector<std::int64_t> all{h * inner, h * inner, h * inner, inner * h};
  if (layer == 0) {
    all.push_back(stack.buckets * stack.heads);
  }
  all.push_back(h);
  if (stack.is_decoder()) {
    append(all, {h * inner, h * inner, h * inner, inner * h, h});
  }
  if (stack.is_sparse(layer)) {
    all.push_back(h * stack.routing->count);
    for (std::int64_t expert = 0; expert < stack.routing->count; ++expert) {
      append(all, {h * f, f * h});
    }
  } else {
    append(all, {h * f, f * h});
    if (stack.gated) {
      all.push_back(h * f);
    }
  }
  all.push_back(h);
  return all;
}

}  // namespace lockstep
