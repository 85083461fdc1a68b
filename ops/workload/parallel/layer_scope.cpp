#include "ops/workload/parallel/layer_scope.hpp"

#include <algorithm>

#include "ops/workload/layers/dropout.hpp"
#include "ops/workload/layers/kernels.hpp"
#include "ops/workload/parallel/compiled_llama.hpp"
#include "ops/workload/parallel/eager_llama.hpp"
#include "ops/workload/parallel/lora_adapter.hpp"
#include "ops/workload/parallel/norm_kernels.hpp"

namespace lockstep {
namespace {

double mask_share(const LayerScope& scope) {
  return scope.model.dropout ? size_of(DataType::BOOL) / size_of(scope.storage()) : 0;
}

/// Inputs of two norms; their results, gathered, which two products keep; queries, keys, values and context
/// of attention; the context in the order of the product behind it; gate and up, silu of the gate, their
/// product.
Bytes kept_by_eager_layer(const LayerScope& scope) {
  const LayerSizes& s = scope.sizes;
  const std::int64_t copies = s.batch > 1 ? 2 : 1;  // one sample's context is in the product's order already
  return scope.bytes(2 * s.elements() + s.tokens * (2 * s.hidden + s.query_width() + 2 * s.kv_width() +
                                                    copies * s.query_width() + 4 * s.feed_forward));
}

}  // namespace

LayerSizes layer_sizes(const TransformerSpec& model, const ParallelPlan& plan) {
  LayerSizes sizes;
  const std::int64_t tensor = plan.spec.tensor;
  sizes.batch = plan.micro_batch;
  sizes.sequence = model.sequence;
  sizes.queries = model.sequence / plan.spec.context;
  sizes.tokens = sizes.batch * sizes.queries;
  sizes.rows = plan.spec.sequence_parallel ? sizes.tokens / tensor : sizes.tokens;
  sizes.hidden = model.hidden;
  sizes.heads = model.heads / tensor;
  sizes.kv_heads = std::max<std::int64_t>(1, model.key_value_heads() / tensor);
  sizes.head_size = model.size_of_head();
  sizes.feed_forward = model.feed_forward_width() / tensor;
  return sizes;
}

std::int64_t message_elements(const ParallelPlan& plan, const LayerSizes& sizes) {
  const std::int64_t shares = plan.spec.shares_messages() ? plan.spec.tensor : 1;
  return (sizes.elements() + shares - 1) / shares;
}

EventId LayerScope::start(CollectiveKind kind, std::string_view group, Bytes size, int sm_limit) const {
  step.program().begin(to_string(kind));
  const EventId end = step.communicate(
      group, "nccl " + std::string{group},
      {.kind = kind, .type = storage(), .size = size, .send_bytes = {}, .sm_limit = sm_limit});
  step.program().end();
  return end;
}

void LayerScope::communicate(CollectiveKind kind, std::string_view group, int ranks, Bytes size) const {
  if (ranks > 1) {
    step.wait_for(start(kind, group, size));
  }
}

void norm_forward(const LayerScope& scope, std::int64_t rows, std::int64_t columns) {
  if (is_llama(scope) || scope.model.norm_kernels == NormKernels::Operators) {
    eager_norm_forward(scope, rows, columns);
    return;
  }
  const bool rms = scope.model.normalisation == Normalisation::Rms;
  scope.step.op(rms ? "RMSNorm" : "FusedLayerNorm",
                {norm_forward_kernel(scope.model, scope.storage(), rows, columns)});
}

void norm_backward(const LayerScope& scope, std::int64_t rows, std::int64_t columns, BackwardParts parts) {
  if (is_llama(scope) || scope.model.norm_kernels == NormKernels::Operators) {
    eager_norm_backward(scope, rows, columns, parts);
    return;
  }
  inner_norm_backward(scope, rows, columns, parts);
  if (parts.inputs) {
    scope.step.op("aten::add_", {kernels::add(rows * columns, scope.storage())});
  }
}

void inner_norm_backward(const LayerScope& scope, std::int64_t rows, std::int64_t columns,
                         BackwardParts parts) {
  const bool rms = scope.model.normalisation == Normalisation::Rms;
  if (parts.inputs) {
    const auto kernels = norm_backward_kernels(scope.model, scope.storage(), rows, columns);
    scope.step.op(rms ? "RMSNormBackward" : "FusedLayerNormBackward", {kernels.front(), kernels.back()});
  }
  if (parts.weights && !is_frozen(scope)) {  // the kernel makes it all the same
    scope.gradients.accumulate(columns, false);
    if (!rms && scope.model.bias) {
      scope.gradients.accumulate(columns, false);
    }
  }
}

void feed_forward_norm_forward(const LayerScope& scope) {
  if (scope.model.residual != Residual::ParallelOneNorm) {
    norm_forward(scope, scope.sizes.rows, scope.sizes.hidden);
  }
}

void feed_forward_norm_backward(const LayerScope& scope, BackwardParts parts) {
  if (scope.model.residual != Residual::ParallelOneNorm) {
    norm_backward(scope, scope.sizes.rows, scope.sizes.hidden, parts);
  }
}

void add_input_gradient(const LayerScope& scope, bool has_others) {
  if (is_by_product(scope) && has_others) {
    scope.step.op("aten::add", {kernels::add(scope.sizes.elements(), scope.storage())});
  }
}

namespace {

/// Writes bias_dropout_add_fused without the fusion (GPT-NeoX, megatron/model/fused_bias_dropout.py,
/// bias_dropout_add): the bias, dropout, the sum.
void bias_dropout_add_in_operators(const LayerScope& scope, bool adds_residual) {
  const std::int64_t elements = scope.sizes.elements();
  if (scope.model.bias) {
    scope.step.op("aten::add", {kernels::by_offsets("add", elements, scope.storage(), {})});
  }
  if (scope.model.dropout) {
    dropout_forward(scope.step, elements, scope.storage());
  }
  if (adds_residual) {
    scope.step.op("aten::add", {kernels::add(elements, scope.storage())});
  }
}

}  // namespace

void residual_forward(const LayerScope& scope, Branch branch) {
  const double random = scope.model.dropout ? 10 : 0;
  if (is_eager(scope)) {
    scope.step.op("aten::add", {kernels::add(scope.sizes.elements(), scope.storage())});
    return;
  }
  const std::int64_t elements = scope.sizes.elements();
  const bool waits = is_side_by_side(scope) && branch == Branch::Attention;
  if (waits && !scope.model.bias && !scope.model.dropout) {
    return;  // nothing to do before the sum
  }
  if (scope.model.bias_dropout_fusion) {
    scope.step.op("bias_dropout_add_fused",
                  {kernels::elementwise(
                      "bias_dropout_add", elements, scope.storage(),
                      {.reads = waits ? 1.0 : 2.0, .writes = 1 + mask_share(scope), .flops = 2 + random})});
  } else {
    bias_dropout_add_in_operators(scope, !waits);
  }
  if (is_side_by_side(scope) && !waits) {
    scope.communicate(CollectiveKind::AllReduce, "tp", scope.plan.spec.tensor, scope.bytes(elements));
    scope.step.op("aten::add", {kernels::add(elements, scope.storage())});
  }
}

void residual_backward(const LayerScope& scope, BackwardParts parts) {
  const LayerSizes& sizes = scope.sizes;
  if (parts.inputs && scope.model.dropout) {
    scope.step.op("bias_dropout_add_backward",
                  {kernels::elementwise("masked_scale", sizes.elements(), scope.storage(),
                                        {.reads = 1 + mask_share(scope), .writes = 1, .flops = 2})});
  }
  if (parts.weights && scope.model.bias) {
    scope.step.op("aten::sum",
                  {kernels::reduce("sum", {.rows = sizes.rows, .columns = sizes.hidden, .across_rows = true},
                                   scope.storage())});
    scope.gradients.accumulate(sizes.hidden, false);
  }
}

Bytes kept_scores(const LayerScope& scope) {
  const LayerSizes& s = scope.sizes;
  return scope.bytes(s.batch * s.heads * s.sequence * s.sequence) *
         (scope.model.dropout ? 2 + mask_share(scope) : 1);
}

namespace {

/// Elements of 16 bits that a product keeps of its input, for its weight's gradient. Nothing where that is
/// frozen, all of it for an adapter, with the mask where it is dropped out.
double kept_for_product(const LayerScope& scope, LoraModule module, double operand) {
  return is_frozen(scope) ? kept_by_adapter(scope, module) : operand;
}

/// The context, which flash attention keeps in 16 bits. Products and adapters without dropout keep the same
/// tensor; FP8 ones what they cast.
double kept_of_context(const LayerScope& scope, double operand) {
  const double of_product = kept_for_product(scope, LoraModule::LinearProj, operand);
  if (scope.model.attention == AttentionKernels::Unfused) {
    return of_product;
  }
  const bool is_same = is_frozen(scope) ? !scope.model.lora->dropout : operand == 1;
  return is_same ? 1 : 1 + of_product;
}

/// The same for both norms' results, by a rank's rows: adapters keep what was gathered.
double kept_for_adapters_behind_norms(const LayerScope& scope) {
  const double gathered = static_cast<double>(scope.sizes.tokens) / static_cast<double>(scope.sizes.rows);
  return gathered * (kept_for_product(scope, LoraModule::LinearQkv, 0) +
                     kept_for_product(scope, LoraModule::LinearFc1, 0));
}

}  // namespace

Bytes kept_by_layer(const LayerScope& scope, std::optional<std::int64_t> expert_layer, Recompute recompute) {
  const LayerSizes& s = scope.sizes;
  const TransformerSpec& model = scope.model;
  const Bytes row = scope.bytes(s.elements());
  if (recompute == Recompute::Full) {
    return scope.plan.spec.partition_activations ? row / static_cast<double>(scope.plan.spec.tensor) : row;
  }
  if (is_llama(scope)) {
    return is_compiled(scope) ? kept_by_compiled_llama(scope, recompute)
                              : kept_by_eager_llama(scope, recompute);
  }
  if (is_eager(scope)) {
    return kept_by_eager_layer(scope);
  }
  const double mask = mask_share(scope);
  const bool fp8 = scope.step.precision() == Precision::FP8;
  const double operand = fp8 ? size_of(DataType::FP8) / size_of(scope.storage()) : 1;  // what a product keeps
  const double inputs = is_side_by_side(scope) ? 1 : 2;
  const double norms = model.residual == Residual::ParallelOneNorm ? 1 : 2;
  const double normed = is_frozen(scope) ? kept_for_adapters_behind_norms(scope) : norms * operand;
  Bytes kept = row * (inputs + normed + 2 * mask);     // inputs of norms, their results; two masks
  if (model.norm_kernels == NormKernels::Operators) {  // inputs in FP32, and what the gain multiplies
    kept += norms * (Bytes{4} * static_cast<double>(s.elements()) + row) - inputs * row;
  }
  // Queries, keys, values; the context, which the projection keeps, and flash attention in 16 bits.
  kept += scope.bytes(s.tokens * (s.query_width() + 2 * s.kv_width()));
  kept += scope.bytes(s.tokens * s.query_width()) * kept_of_context(scope, operand);
  if (model.qk_norm) {  // queries and keys before
    kept += scope.bytes(s.tokens * (s.query_width() + s.kv_width()));
  }
  if (model.attention == AttentionKernels::Unfused && recompute == Recompute::None) {
    kept += kept_scores(scope);
  }
  // Gate and up, and of operators silu of the gate; or what GELU reads.
  const double gated = model.fused_activation ? 2 : 3;
  const double before = model.activation == Activation::SwiGlu ? gated : 1;
  // Copies before the activation, and behind it.
  const double copies = before + kept_for_product(scope, LoraModule::LinearFc2, operand);
  if (is_by_product(scope)) {  // each product keeps what it gathered, in place of a share for all
    const double products = 3 + (model.activation == Activation::SwiGlu ? 2 : 1);
    kept += scope.bytes(s.tokens * s.hidden) * products - row * 2;
  }
  const auto& experts = model.experts;
  if (!expert_layer) {
    return kept + scope.bytes(s.tokens * s.feed_forward) * copies;
  }
  // Kept: what came (the ranks of expert_tensor gather it) and what lies between the products. What comes
  // back, which the router's gradient reads to weigh it, unless the activation has weighed it. The router's
  // input, which FP8 leaves in 16 bits.
  const auto came = static_cast<double>(tokens_of_fullest_rank(scope, *expert_layer));
  const std::int64_t share = experts->feed_forward / scope.plan.spec.expert_tensor;
  const auto width = static_cast<double>(share);
  const Bytes one = size_of(scope.storage());
  kept += one * (came * (operand * static_cast<double>(s.hidden) + copies * width));
  kept += row * (1 - operand);
  if (!experts->weighted_activation) {
    kept += one * elements_sent(scope, *expert_layer);
  }
  return kept +
         scope.bytes(s.tokens * experts->shared * experts->feed_forward / scope.plan.spec.tensor) * copies;
}

}  // namespace lockstep
