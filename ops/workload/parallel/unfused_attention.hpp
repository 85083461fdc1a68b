#pragma once

#include "ops/workload/parallel/layer_scope.hpp"

namespace lockstep {

/// Attention's products, mask, softmax and dropout as Megatron-LM's DotProductAttention writes them
/// (core/transformer/dot_product_attention.py, core/fusions/fused_softmax.py). Its fused kernel masks and
/// normalises in one pass: with a causal mask a warp holds a row in registers and neither reads nor computes
/// what is above the diagonal (csrc: scaled_upper_triang_masked_softmax.h). Where it does not apply,
/// masked_fill_ and PyTorch's softmax do.
void unfused_forward(const LayerScope& scope);
void unfused_backward(const LayerScope& scope);

/// Gradients of queries, keys and values side by side. They are views of what products left by heads, not
/// contiguous: CatArrayBatchedCopy (aten/src/ATen/native/cuda/Shape.cu) computes both offsets of each
/// element.
[[nodiscard]] KernelCall concat_of_views(const LayerScope& scope);

}  // namespace lockstep
