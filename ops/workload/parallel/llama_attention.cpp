#include "ops/workload/parallel/llama_attention.hpp"

#include "ops/workload/layers/attention.hpp"
#include "ops/workload/layers/attention_masks.hpp"
#include "ops/workload/layers/cast.hpp"
#include "ops/workload/layers/fused_attention.hpp"
#include "ops/workload/layers/kernels.hpp"
#include "ops/workload/parallel/context_attention.hpp"

namespace lockstep {
namespace {

bool is_v5(const LayerScope& scope) {
  return scope.step.framework().transformers == Transformers::V5;
}

/// A number of each pair of tokens of a sample.
std::int64_t mask_of_layer(const LayerScope& scope) {
  return scope.sizes.batch * scope.sizes.sequence * scope.sizes.sequence;
}

/// Elements of 4.38's mask: all pairs of the model's positions, for each sample.
std::int64_t mask_of_positions(const LayerScope& scope) {
  return scope.sizes.batch * scope.model.positions * scope.model.positions;
}

/// Hugging Face's eager_attention_forward: products, scale, mask, softmax in FP32.
AttentionShape unfused_attention(const LayerScope& scope) {
  const LayerSizes& s = scope.sizes;
  return {.batch = s.batch,
          .sequence = s.sequence,
          .heads = s.heads,
          .head_size = s.head_size,
          .code = AttentionCode::Llama,
          .dropout = false,
          .repeated_heads = s.kv_heads < s.heads};
}

/// cuDNN's kernels; backward of grouped heads makes gradients of keys and values for each head, and sums
/// those that share one.
void cudnn_attention(const LayerScope& scope, FlashAttention work) {
  if (work.direction == Direction::Forward) {
    scope.step.op("aten::_scaled_dot_product_cudnn_attention",
                  {{"cudnn_sdpa_flash_fprop", scope.type(), work}});
    return;
  }
  const LayerSizes& s = scope.sizes;
  const std::int64_t elements = s.tokens * s.query_width();
  work.main_alone = true;
  scope.step.program().begin("ScaledDotProductCudnnAttentionBackward0");
  scope.step.launch({"compute_dot_do_o_specialized", scope.type(),
                     Pointwise{.elements = elements, .reads = 2, .writes = 0, .flops = 2}});
  scope.step.launch({"cudnn_sdpa_flash_bprop", scope.type(), work});
  scope.step.launch(
      {"convert_dq_to_16bits", scope.type(), Pointwise{.elements = elements, .reads = 2, .writes = 1}});
  if (s.kv_heads < s.heads && !scope.model.repeats_kv_heads) {
    const double share = static_cast<double>(s.kv_heads) / static_cast<double>(s.heads);
    for (int tensor = 0; tensor < 2; ++tensor) {
      scope.step.launch(
          kernels::elementwise("fmha_reduce_head", elements, scope.storage(), {.writes = share}));
    }
  }
  scope.step.program().end();
}

/// Prepares the mask in a layer, and in 4.38 operands that are not contiguous: repeated keys and values
/// are.
void prepare_mask(const LayerScope& scope) {
  const LayerSizes& s = scope.sizes;
  const DataType type = scope.storage();
  const std::int64_t mask = mask_of_layer(scope);
  if (is_v5(scope)) {
    scope.step.op("aten::logical_not", {kernels::elementwise("logical_not", mask, DataType::BOOL, {})});
    const double flag = size_of(DataType::BOOL) / size_of(type);
    scope.step.op("aten::where",
                  {kernels::fill(1, type), kernels::by_offsets("where", mask, type, {.reads = flag})});
    return;
  }
  scope.step.op("aten::index", {kernels::by_offsets("index", mask, type, {})});
  const int copies = s.kv_heads < s.heads ? 1 : 3;
  for (int tensor = 0; tensor < copies; ++tensor) {
    scope.step.op("aten::contiguous", {kernels::strided_copy(s.tokens * s.query_width(), type)});
  }
}

void efficient_attention(const LayerScope& scope, FlashAttention work) {
  const LayerSizes& s = scope.sizes;
  if (scope.model.attention_mask) {
    work.batch = s.batch;
    work.queries = work.keys = s.sequence;
    work.causal = false;
  }
  if (work.direction == Direction::Backward) {
    scope.step.program().begin("ScaledDotProductEfficientAttentionBackward0");
    for (const KernelCall& call : efficient_backward_calls(work, scope.type())) {
      scope.step.launch(call);
    }
    scope.step.program().end();
    return;
  }
  if (scope.model.attention_mask) {
    prepare_mask(scope);
  }
  scope.step.op("aten::_scaled_dot_product_efficient_attention", {{"fmha_cutlassF", scope.type(), work}});
}

/// torch.any(attention_mask != 1) or attention_mask.all(), which the host reads.
void look_for_padding(const LayerScope& scope) {
  const std::int64_t tokens = scope.sizes.tokens;
  if (!is_v5(scope)) {
    scope.step.op("aten::ne", {kernels::elementwise("compare", tokens, DataType::INT64, {})});
  }
  scope.step.op("aten::any", {kernels::reduce("or", {.rows = 1, .columns = tokens}, DataType::BOOL)});
  scope.step.blocking_copy("aten::is_nonzero", kernels::copy_to_host(size_of(DataType::BOOL), true));
}

/// LlamaModel._update_causal_mask() of 4.38: the buffer of all positions for each sample, in the model's
/// type, times the least number; padding is filled into the columns of the tokens.
void mask_all_positions(const LayerScope& scope) {
  const LayerSizes& s = scope.sizes;
  StepWriter& step = scope.step;
  const DataType type = scope.storage(), flag = DataType::BOOL;
  const std::int64_t all = mask_of_positions(scope);
  const std::int64_t columns = s.batch * scope.model.positions * s.sequence;
  const double share = size_of(flag) / size_of(type);
  step.op("aten::repeat", {kernels::by_offsets("copy", all, flag, {})});
  step.op("aten::to", {kernels::elementwise("copy", all, type, {.reads = share})});
  step.op("aten::mul", {kernels::scale(all, type)});
  step.op("aten::eq", {kernels::by_offsets("compare", columns, type, {.writes = share})});
  step.op("aten::eq", {kernels::elementwise("compare", s.tokens, DataType::INT64, {})});
  step.op("aten::mul", {kernels::by_offsets("mul", columns, flag, {})});
  step.op("aten::masked_fill", {kernels::strided_copy(columns, type),
                                kernels::elementwise("masked_fill", columns, type, {.reads = 1 + share})});
  step.op("aten::copy_", {kernels::strided_copy(columns, type)});
  look_for_padding(scope);
}

}  // namespace

void llama_attention_core(const LayerScope& scope, Direction direction) {
  if (scope.model.attention == AttentionKernels::Unfused) {
    if (direction == Direction::Forward) {
      attention_forward(scope.step, unfused_attention(scope));
    } else {
      attention_backward(scope.step, unfused_attention(scope));
    }
    return;
  }
  const LayerSizes& s = scope.sizes;
  const bool is_forward = direction == Direction::Forward;
  const std::int64_t packed = scope.model.packed;
  const FlashAttention work{.batch = s.batch * packed,
                            .heads = s.heads,
                            .queries = s.queries / packed,
                            .keys = s.sequence / packed,
                            .head_size = s.head_size,
                            .causal = true,
                            .direction = direction,
                            .version = version_of(scope.model.attention)};
  if (scope.model.attention == AttentionKernels::CuDnn) {
    cudnn_attention(scope, work);
    return;
  }
  if (scope.model.attention == AttentionKernels::Efficient) {
    efficient_attention(scope, work);
    return;
  }
  const auto attend = [&](const FlashAttention& call) {
    scope.step.program().begin(is_forward ? "aten::_scaled_dot_product_flash_attention"
                                          : "ScaledDotProductFlashAttentionBackward0");
    for (const KernelCall& kernel :
         with_padded_heads({{is_forward ? "flash_fwd_kernel" : "flash_bwd_kernel", scope.type(), call}}, call,
                           scope.model.repeats_kv_heads ? call.heads : s.kv_heads, true)) {
      scope.step.launch(kernel);
    }
    scope.step.program().end();
  };
  if (scope.plan.spec.context > 1) {
    torch_context_attention(scope, work, attend);
  } else {
    attend(work);
  }
}

Bytes kept_by_llama_attention(const LayerScope& scope) {
  if (scope.model.attention_mask) {
    return scope.bytes(mask_of_layer(scope));
  }
  if (scope.model.attention != AttentionKernels::Unfused) {
    return Bytes{0};
  }
  const Bytes narrow = is_mixed(scope.step.precision()) ? size_of(scope.storage()) : Bytes{0};
  return static_cast<double>(unfused_attention(scope).scores()) * (size_of(DataType::FP32) + narrow);
}

void hugging_face_masks(const LayerScope& scope) {
  const bool is_masked = scope.model.attention_mask;
  if (!is_v5(scope)) {
    if (is_masked) {
      mask_all_positions(scope);
    }
    return;
  }
  const AttentionMaskShape mask{.batch = scope.sizes.batch,
                                .sequence = scope.sizes.sequence,
                                .padding = is_masked,
                                .of_numbers = !is_masked};
  if (is_masked) {
    look_for_padding(scope);
  } else {
    packed_samples_check(scope.step, mask);
  }
  if (is_masked || scope.model.attention == AttentionKernels::Unfused) {
    attention_mask_forward(scope.step, mask);
  }
}

Bytes kept_by_hugging_face_masks(const LayerScope& scope) {
  if (!scope.model.attention_mask) {
    return Bytes{0};
  }
  return is_v5(scope) ? size_of(DataType::BOOL) * static_cast<double>(mask_of_layer(scope))
                      : scope.bytes(mask_of_positions(scope));
}

}  // namespace lockstep
