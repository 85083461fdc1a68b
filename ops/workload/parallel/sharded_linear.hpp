#pragma once

#include <cstdint>
#include <string_view>

#include "ops/workload/parallel/layer_scope.hpp"

namespace lockstep {

/// y[tokens, out] = x[tokens, in] W, in or out already divided among the ranks of a group.
struct ShardedLinear {
  std::int64_t tokens = 0, in = 0, out = 0;
  bool bias = false;
  bool skip_bias_add = false;   ///< the kernel behind the product adds the bias
  std::int64_t products = 1;    ///< side by side in one batched kernel: experts
  bool shares_weight = false;   ///< with the embedding, which passes the gradient on
  bool high_precision = false;  ///< 16 bits with FP8 too: head, router
  bool plain = false;           ///< F.linear, whose weight's gradient autograd keeps: the router
  std::int64_t rank = 0;        ///< of the adapter beside it (lora_adapter.hpp); 0: none
};

/// ColumnParallelLinear: each rank has some outputs. Sequence-parallel input is gathered first, or in pieces
/// under the product (tensor_overlap); backward gathers it again under the input's gradient, and sums that
/// over the ranks (all-reduce, or reduce-scatter to sequence-parallel rows) under the weight's gradient, as
/// Megatron-LM does (core/tensor_parallel/layers.py, LinearWithGradAccumulationAndAsyncCommunication); behind
/// both products without overlap_input_gradients, as autograd does. With `tensor_layers: dtensor` backward
/// has kept what was gathered, nothing is hidden, and what is gathered or scattered is copied from or to the
/// order of ranks (torch/distributed/tensor: Shard(1) of [samples, tokens, columns] is gathered along
/// dimension 0 and concatenated along 1; chunks of dimension 1 are concatenated along 0 before they are
/// scattered; reorder_tokens). torchtitan's head is such a layer, too.
///
/// A bias that no later kernel adds is added by one of its own in Megatron-LM's layers (core/tensor_parallel/
/// layers.py, `output + bias`; PyTorch 1's F.linear of three dimensions), a broadcast row. Products of
/// Transformer Engine and of FlashAttention's code (FusedDense) add it themselves (cuBLASLt's epilogue).
/// *Assumes* that who fuses attention has one of these.
void column_linear_forward(const LayerScope& scope, const ShardedLinear& shape);
void column_linear_backward(const LayerScope& scope, const ShardedLinear& shape, BackwardParts parts);

/// RowParallelLinear: each rank has some inputs; outputs are summed over the ranks (all-reduce, or
/// reduce-scatter to sequence-parallel rows, in pieces with tensor_overlap).
void row_linear_forward(const LayerScope& scope, const ShardedLinear& shape);
void row_linear_backward(const LayerScope& scope, const ShardedLinear& shape, BackwardParts parts);

/// Copies @p elements of [samples, tokens, columns] into the order of ranks, or back: one sample is in it
/// already.
void reorder_tokens(const LayerScope& scope, std::int64_t elements);

/// Products alone, without communication. With FP8 their operands are cast before. Frozen weights (LoRA) have
/// no gradient, and their inputs are not cast for one; whose gradients are cast both ways all the same
/// (Transformer Engine 1, pytorch/module/linear.py, base.py grad_output_preprocess).
void product_forward(const LayerScope& scope, const ShardedLinear& shape);
void input_gradient(const LayerScope& scope, const ShardedLinear& shape);
void weight_gradient(const LayerScope& scope, const ShardedLinear& shape, bool expert = false);

/// Bytes of an element of the gradients that products of weights' gradients add to (fuse_weight_gradients);
/// 0: they do not.
[[nodiscard]] int products_add_to(const LayerScope& scope);
/// The gradient of a weight of @p elements behind its product: added by a kernel unless that is fused.
void add_weight_gradient(const LayerScope& scope, std::int64_t elements, bool expert);

}  // namespace lockstep
