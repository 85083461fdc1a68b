/// @file
/// Self-attention as Megatron-LM writes it (core/transformer/attention.py, dot_product_attention.py,
/// multi_latent_attention.py).

#include <algorithm>
#include <vector>

#include "ops/model_flops.hpp"
#include "ops/workload/layers/fused_attention.hpp"
#include "ops/workload/layers/kernels.hpp"
#include "ops/workload/parallel/context_attention.hpp"
#include "ops/workload/parallel/lora_adapter.hpp"
#include "ops/workload/parallel/rotary.hpp"
#include "ops/workload/parallel/sharded_linear.hpp"
#include "ops/workload/parallel/unfused_attention.hpp"

namespace lockstep {
namespace {

struct Projections {
  std::vector<ShardedLinear> down;  // every rank has all of it (latent attention)
  std::vector<ShardedLinear> in;
  ShardedLinear out;
};

Projections projections_of(const LayerScope& scope) {
  const LayerSizes& s = scope.sizes;
  const auto& latent = scope.model.latent_attention;
  if (is_by_product(scope)) {
    Projections apart{
        .down = {}, .in = {}, .out = {.tokens = s.tokens, .in = s.query_width(), .out = s.hidden}};
    for (const std::int64_t width : {s.query_width(), s.kv_width(), s.kv_width()}) {
      apart.in.push_back({.tokens = s.tokens,
                          .in = s.hidden,
                          .out = width,
                          .bias = scope.model.bias || scope.model.qkv_bias});
    }
    return apart;
  }
  if (!latent) {
    return {.down = {},
            .in = {{.tokens = s.tokens,
                    .in = s.hidden,
                    .out = s.query_width() + 2 * s.kv_width(),
                    .bias = scope.model.bias || scope.model.qkv_bias,
                    .rank = rank_of(scope.model, LoraModule::LinearQkv)}},
            .out = {.tokens = s.tokens,
                    .in = s.query_width(),
                    .out = s.hidden,
                    .rank = rank_of(scope.model, LoraModule::LinearProj)}};
  }
  Projections narrow{.down = {},
                     .in = {{.tokens = s.tokens,
                             .in = latent->query_rank.value_or(s.hidden),
                             .out = s.heads * (s.head_size + latent->rotary_size)},
                            {.tokens = s.tokens,
                             .in = latent->key_value_rank,
                             .out = s.heads * (s.head_size + latent->value_size)}},
                     .out = {.tokens = s.tokens, .in = s.heads * latent->value_size, .out = s.hidden}};
  if (latent->query_rank) {
    narrow.down.push_back({.tokens = s.rows, .in = s.hidden, .out = *latent->query_rank});
  }
  narrow.down.push_back(
      {.tokens = s.rows, .in = s.hidden, .out = latent->key_value_rank + latent->rotary_size});
  return narrow;
}

FlashAttention flash_work(const LayerScope& scope, Direction direction) {
  const LayerSizes& s = scope.sizes;
  const auto& latent = scope.model.latent_attention;
  // Products with queries and with values may differ in width; their mean gives the same arithmetic.
  const std::int64_t size =
      latent ? (s.head_size + latent->rotary_size + latent->value_size) / 2 : s.head_size;
  const std::int64_t packed = scope.model.packed;
  return {.batch = s.batch * packed,
          .heads = s.heads,
          .queries = s.queries / packed,
          .keys = s.sequence / packed,
          .head_size = size,
          .causal = scope.model.family == TransformerFamily::Gpt,
          .dropout = scope.model.dropout,
          .direction = direction,
          .version = version_of(scope.model.attention)};
}

/// The lengths of sequences, counted again in every layer (models/llama.py, CoreAttention).
void count_lengths(const LayerScope& scope) {
  const LayerSizes& s = scope.sizes;
  for (int of = 0; of < 2; ++of) {  // queries; keys
    scope.step.op("aten::zeros", {kernels::fill(s.batch + 1, DataType::INT32)});
    scope.step.op("aten::sum",
                  {kernels::reduce("sum", {.rows = s.batch, .columns = s.sequence}, DataType::INT32)});
    scope.step.op("aten::cumsum", {kernels::elementwise("cumsum", s.batch, DataType::INT32, {})});
  }
}

/// Prepares attention as nanotron's CausalSelfAttention does. Queries, keys and values come in the order of
/// samples, keys and values side by side. Queries are rotated into a new tensor, keys in place.
void eager_inputs_forward(const LayerScope& scope) {
  const LayerSizes& s = scope.sizes;
  const DataType type = scope.storage();
  const std::int64_t q = s.tokens * s.query_width(), k = s.tokens * s.kv_width();
  scope.step.op("aten::contiguous", {kernels::strided_copy(q + 2 * k, type)});
  scope.step.op("aten::cat", {kernels::concat(2 * k, 2, type)});
  scope.step.op("aten::contiguous", {kernels::strided_copy(2 * k, type)});
  scope.step.op("ApplyRotaryEmb", {kernels::elementwise("rotary", q, type, {.flops = 3})});
  scope.step.op("ApplyRotaryEmbKV_", {kernels::elementwise("rotary", k, type, {.flops = 3})});
  count_lengths(scope);
}

/// Its backward; queries' gradients are copied before they are rotated in place (flash-attn 2.5, rotary.py).
void eager_inputs_backward(const LayerScope& scope) {
  const LayerSizes& s = scope.sizes;
  const DataType type = scope.storage();
  const std::int64_t q = s.tokens * s.query_width(), k = s.tokens * s.kv_width();
  scope.step.op("SplitBackward0", {kernels::concat(2 * k, 2, type)});
  scope.step.op("ApplyRotaryEmbKV_Backward", {kernels::elementwise("rotary", k, type, {.flops = 3})});
  scope.step.op("ApplyRotaryEmbBackward", {kernels::copy_on_device(scope.bytes(q)),
                                           kernels::elementwise("rotary", q, type, {.flops = 3})});
  scope.step.op("UnbindBackward0", {kernels::concat(q + 2 * k, 3, type)});
  scope.step.op("aten::reshape", {kernels::strided_copy(q + 2 * k, type)});
}

/// The context, or its gradient, from the order of samples to that of tokens or back; one sample has both.
void eager_reorder(const LayerScope& scope) {
  if (is_eager(scope) && scope.sizes.batch > 1) {
    scope.step.op("aten::reshape",
                  {kernels::strided_copy(scope.sizes.tokens * scope.sizes.query_width(), scope.storage())});
  }
}

/// GPT-NeoX, megatron/model/transformer.py, flash_attention(): FlashAttention 1 takes queries, keys and
/// values as one tensor with samples before tokens: each is copied into that order, where there are several
/// samples, and all are concatenated. The context is copied back.
void pack_forward(const LayerScope& scope) {
  const LayerSizes& s = scope.sizes;
  const std::int64_t q = s.tokens * s.query_width(), k = s.tokens * s.kv_width();
  if (s.batch > 1) {
    for (const std::int64_t elements : {k, k, q}) {
      scope.step.op("aten::reshape", {kernels::strided_copy(elements, scope.storage())});
    }
  }
  scope.step.op("aten::cat", {kernels::concat(q + 2 * k, 3, scope.storage())});
}

/// Gradients of all three are views of one tensor, until the split's backward puts them together.
void pack_backward(const LayerScope& scope) {
  scope.step.op("CatBackward0");
  scope.step.op("SplitBackward0", {concat_of_views(scope)});
}

/// The context, or its gradient, from one order to the other.
void reorder_context(const LayerScope& scope, const char* name) {
  if (scope.model.packs_qkv && scope.sizes.batch > 1) {
    scope.step.op(name,
                  {kernels::strided_copy(scope.sizes.tokens * scope.sizes.query_width(), scope.storage())});
  }
}

void flash(const LayerScope& scope, const FlashAttention& work) {
  const bool forward = work.direction == Direction::Forward;
  if (work.version == FlashVersion::CuDnn) {
    scope.step.op(forward ? "FusedAttnFunc" : "FusedAttnFuncBackward",
                  {{forward ? "cudnn_sdpa_flash_fprop" : "cudnn_sdpa_flash_bprop", scope.type(), work}});
    return;
  }
  scope.step.program().begin(forward ? "FlashAttnFunc" : "FlashAttnFuncBackward");
  for (const KernelCall& call :
       with_padded_heads({{forward ? "flash_fwd_kernel" : "flash_bwd_kernel", scope.type(), work}}, work,
                         scope.sizes.kv_heads, false)) {
    scope.step.launch(call);
  }
  scope.step.program().end();
}

/// Normalises queries and keys by head (core/transformer/attention.py, q_layernorm and k_layernorm).
void norm_heads(const LayerScope& scope) {
  if (scope.model.qk_norm) {
    norm_forward(scope, scope.sizes.tokens * scope.sizes.heads, scope.sizes.head_size);
    scope.step.op("aten::contiguous",  // a slice of the product's result
                  {kernels::strided_copy(scope.sizes.tokens * scope.sizes.kv_width(), scope.storage())});
    norm_forward(scope, scope.sizes.tokens * scope.sizes.kv_heads, scope.sizes.head_size);
  }
}

void norm_heads_backward(const LayerScope& scope, BackwardParts parts) {
  if (scope.model.qk_norm) {
    inner_norm_backward(scope, scope.sizes.tokens * scope.sizes.kv_heads, scope.sizes.head_size, parts);
    inner_norm_backward(scope, scope.sizes.tokens * scope.sizes.heads, scope.sizes.head_size, parts);
  }
}

}  // namespace

void flash_attention_core(const LayerScope& scope, Direction direction) {
  context_attention(scope, flash_work(scope, direction),
                    [&](const FlashAttention& work) { flash(scope, work); });
}

void attention_core_forward(const LayerScope& scope) {
  if (scope.model.attention == AttentionKernels::Unfused) {
    unfused_forward(scope);
  } else {
    if (scope.model.packs_qkv) {
      pack_forward(scope);
    }
    flash_attention_core(scope, Direction::Forward);
    reorder_context(scope, "aten::contiguous");
  }
}

void attention_forward(const LayerScope& scope) {
  const Projections projections = projections_of(scope);
  norm_forward(scope, scope.sizes.rows, scope.sizes.hidden);
  for (const ShardedLinear& down : projections.down) {
    product_forward(scope, down);
    norm_forward(scope, down.tokens, down.out);
  }
  for (const ShardedLinear& in : projections.in) {
    column_linear_forward(scope, in);
  }
  if (is_eager(scope)) {
    eager_inputs_forward(scope);
  } else {
    norm_heads(scope);
    megatron_rotary(scope, Direction::Forward);
  }
  attention_core_forward(scope);
  eager_reorder(scope);
  row_linear_forward(scope, projections.out);
  residual_forward(scope, Branch::Attention);
}

void attention_backward(const LayerScope& scope, BackwardParts parts) {
  const Projections projections = projections_of(scope);
  residual_backward(scope, parts);
  row_linear_backward(scope, projections.out, parts);
  if (parts.inputs) {
    // A checkpoint round the core, whatever its kernels (checkpoint_core_attention).
    const bool again = parts.recompute == Recompute::Selective;
    const bool has_scores = again && scope.model.attention == AttentionKernels::Unfused;
    const Bytes scores = has_scores ? kept_scores(scope) : Bytes{0};
    scope.memory.allocate(MemoryUse::Workspace, scores);
    if (again) {
      const ModuleRange range{scope.step, kRecomputeRange};
      attention_core_forward(scope);
    }
    eager_reorder(scope);
    if (scope.model.attention == AttentionKernels::Unfused) {
      unfused_backward(scope);
    } else {
      reorder_context(scope, "ViewBackward0");
      flash_attention_core(scope, Direction::Backward);
      if (scope.model.packs_qkv) {
        pack_backward(scope);
      }
    }
    scope.memory.release(MemoryUse::Workspace, scores);
    if (is_eager(scope)) {
      eager_inputs_backward(scope);
    } else {
      megatron_rotary(scope, Direction::Backward);
    }
  }
  norm_heads_backward(scope, parts);
  for (const ShardedLinear& in : projections.in) {
    column_linear_backward(scope, in, parts);
    add_input_gradient(scope, &in != &projections.in.front() && parts.inputs);
  }
  for (const ShardedLinear& down : projections.down) {
    inner_norm_backward(scope, down.tokens, down.out, parts);
    if (parts.inputs) {
      input_gradient(scope, down);
    }
    if (parts.weights) {
      weight_gradient(scope, down);
    }
  }
  if (scope.model.residual == Residual::ParallelOneNorm &&
      parts.inputs) {  // what the other layer left for it
    scope.step.op("aten::add", {kernels::add(scope.sizes.elements(), scope.storage())});
  }
  norm_backward(scope, scope.sizes.rows, scope.sizes.hidden, parts);
}

}  // namespace lockstep
