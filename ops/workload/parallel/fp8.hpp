#pragma once

#include "ops/workload/parallel/layer_scope.hpp"
#include "ops/workload/parallel/sharded_linear.hpp"

/// @file
/// FP8 as Transformer Engine does it with delayed scaling (Micikevicius et al., arXiv 2209.05433; user guide
/// of Transformer Engine, "Using FP8"): products of linear layers read E4M3 activations and weights and E5M2
/// gradients and leave BF16. A kernel casts a tensor with the scale of steps before, writes what the next
/// product reads, its transpose for the other one (Hopper multiplies FP8 rows by rows only) and notes the
/// greatest magnitude. In BF16 stay: attention's core, normalisation, activations, router, head and
/// embedding, sums of tensor parallelism; in FP32 main gradients and the optimizer. All-gathers of sequence
/// parallelism carry FP8. *Assumes* casts as kernels of their own (Transformer Engine fuses some with the
/// normalisation or activation before them).

namespace lockstep {

/// Whether the products of a linear layer are FP8 ones.
[[nodiscard]] bool is_fp8(const LayerScope& scope, const ShardedLinear& shape);
[[nodiscard]] DataType product_type(const LayerScope& scope, const ShardedLinear& shape);

/// An operand of @p elements here: cast with its transpose; nothing when the layer is not FP8.
void cast_operand(const LayerScope& scope, const ShardedLinear& shape, std::int64_t elements);

/// An operand that is gathered from sequence-parallel ranks: the share of this rank is cast; the gathered one
/// transposed when its product needs that.
void cast_share(const LayerScope& scope, const ShardedLinear& shape, std::int64_t elements);
void transpose_gathered(const LayerScope& scope, const ShardedLinear& shape, std::int64_t elements);

/// The cast of that many elements with its transpose.
[[nodiscard]] KernelCall cast_transpose_kernel(const LayerScope& scope, std::int64_t elements);

/// torchao's FP8 (compiled_llama.hpp): weights are cast before they are gathered, and scales come from each
/// tensor itself.
[[nodiscard]] bool casts_before_gather(const LayerScope& scope);
/// FP8 scales of this rank's shares of weights: their greatest magnitudes, reduced over the ranks of the
/// stage.
/// @param elements of the shares, @param weights how many there are
void precompute_float8_scales(const LayerScope& scope, std::int64_t elements, std::int64_t weights);

/// Weights of a layer, once a step, or after each gather of zero3.
void cast_weights(const LayerScope& scope, std::int64_t elements);

/// The greatest magnitudes of @p tensors tensors: their greatest over all ranks of the stage, then the new
/// scales.
void update_scales(const LayerScope& scope, std::int64_t tensors);

/// Bytes of FP8 copies of weights beside what was gathered: the cast one and its transpose, or that alone
/// where they are gathered in FP8.
[[nodiscard]] Bytes weight_copies(const LayerScope& scope, std::int64_t elements);

}  // namespace lockstep
