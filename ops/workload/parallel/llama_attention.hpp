#pragma once

#include "ops/workload/parallel/layer_scope.hpp"

namespace lockstep {

/// scaled_dot_product_attention of Llama in PyTorch's operators, between the rotations and the output's
/// product: FlashAttention-2, over context-parallel ranks where there are some; of Hugging Face's models
/// cuDNN's or memory-efficient kernels, too, or eager_attention_forward() in operators.
///
/// Memory-efficient kernels are those of xFormers' memory_efficient_attention with a LowerTriangularMask, as
/// monkey patches of 2023 call it, or PyTorch's of is_causal: views go in, nothing is copied. With
/// `attention_mask` the kernel reads a number for each score, so that it computes all of them. Transformers
/// 4.38, which always gives scaled_dot_product_attention its mask, picks the mask's rows by positions in
/// every layer and copies what is not contiguous; transformers 5 gives a mask only where there is padding, of
/// booleans, which PyTorch makes numbers of in every layer. *Assumes* that reading the mask, which heads
/// share in the L2 cache, is hidden by the products; that a patch's look at the mask (FastChat's waits for an
/// element of it in every layer) costs nothing.
/// *Source*: transformers 4.38, modeling_llama.py, LlamaSdpaAttention; transformers 5, sdpa_attention.py;
/// FastChat, train/llama_xformers_attn_monkey_patch.py; PyTorch, transformers/attention.cpp
/// (convert_boolean_attn_mask) and cuda/attention_backward.cu.
void llama_attention_core(const LayerScope& scope, Direction direction);

/// Bytes kept for backward besides queries, keys, values and context. Unfused attention keeps probabilities
/// in FP32, which softmax's backward reads, and as the product behind reads them; a layer's own mask.
[[nodiscard]] Bytes kept_by_llama_attention(const LayerScope& scope);

/// The masks that Hugging Face's model makes for all layers in each forward pass: transformers 5 those that
/// its attention needs and a look whether samples are packed; 4.38 one over all positions of the model, of
/// memory-efficient attention with a mask (that of others, before and since, is not written).
/// *Source*: transformers 4.38, modeling_llama.py, LlamaModel._update_causal_mask();
/// layers/attention_masks.hpp.
void hugging_face_masks(const LayerScope& scope);

/// Bytes of the mask that all layers share, where it stays until backward.
[[nodiscard]] Bytes kept_by_hugging_face_masks(const LayerScope& scope);

}  // namespace lockstep
