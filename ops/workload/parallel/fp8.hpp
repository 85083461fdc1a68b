#pragma once

#include <functional>

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
///
/// With `fp8_scaling: current` each tensor is read twice: its greatest magnitude is zeroed by a memset and
/// found by a kernel, a kernel of one thread makes the scale of it, and only then it is cast; of each
/// expert's tokens separately, where delayed scaling casts those of all experts in one kernel. What is
/// gathered from sequence-parallel ranks has the greatest magnitude of all, reduced before the cast; none is
/// reduced behind a pass. *Source*: Transformer Engine, pytorch/csrc/quantizer.cpp
/// (Float8CurrentScalingQuantizer), common/recipe/current_scaling.cu, pytorch/csrc/extensions/cast.cpp
/// (multi_tensor_quantize_impl), pytorch/module/linear.py (_customize_quantizers_float8_current_scaling).
/// *Assumes* both FP8 layouts of operands (Blackwell, whose products take any, writes one) and one magnitude
/// for the weights of a layer, which are cast once a step.

namespace lockstep {

/// Whether the products of a linear layer are FP8 ones.
[[nodiscard]] bool is_fp8(const LayerScope& scope, const ShardedLinear& shape);
[[nodiscard]] DataType product_type(const LayerScope& scope, const ShardedLinear& shape);

/// An operand of @p elements here: cast with its transpose; nothing when the layer is not FP8.
void cast_operand(const LayerScope& scope, const ShardedLinear& shape, std::int64_t elements);

/// An operand that is gathered from sequence-parallel ranks, or (frozen weights) read by one product alone:
/// the share of this rank is cast; the gathered one transposed when its product needs that.
/// @param gathered the ranks share its greatest magnitude
void cast_share(const LayerScope& scope, const ShardedLinear& shape, std::int64_t elements, bool gathered);
void transpose_gathered(const LayerScope& scope, const ShardedLinear& shape, std::int64_t elements);

/// Launches, within an open operator, what casts a tensor with its transpose.
/// @param elements of each tensor by a rank's variant (StepWriter::launch_by_rank)
void launch_cast(const LayerScope& scope, const std::function<std::int64_t(std::size_t variant)>& elements);

/// Scales come from the tensors themselves (`fp8_scaling: current`).
[[nodiscard]] bool scales_by_itself(const LayerScope& scope);

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

/// Weights of FP8 products are parameters in FP8, and travel so (Transformer Engine's fp8_model_init,
/// Megatron-LM core/distributed/param_and_grad_buffer.py: a parameter's cast data is all-gathered; its
/// transpose is made of that).
[[nodiscard]] bool keeps_fp8_parameters(const LayerScope& scope);

/// Bytes of FP8 copies of weights beside what was gathered: the cast one and its transpose, or that alone
/// where they are gathered in FP8. Where parameters are FP8 ones, less their 16 bits, which are not there.
[[nodiscard]] Bytes weight_copies(const LayerScope& scope, std::int64_t elements);

}  // namespace lockstep
