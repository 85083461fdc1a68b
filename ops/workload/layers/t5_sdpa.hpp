#pragma once

#include "ops/workload/layers/t5_attention.hpp"

namespace lockstep {

/// The core of T5Attention of transformers 5, scaled_dot_product_attention. Self-attention's mask is the bias
/// of positions, which learns: no fused kernel has a gradient for it, so that PyTorch computes scores by
/// operators, in FP32 whatever the projections are (_scaled_dot_product_attention_math, with _safe_softmax,
/// which looks for rows that are masked wholly). Cross-attention without padding has no mask and one kernel.
/// Its products take TF32: *assumes* torch.backends.cuda.matmul.allow_tf32 where projections are in 16 bits.
/// *Source*: PyTorch 2.11, aten/src/ATen/native/transformers/attention.cpp; kernels as its profiler lists
/// them on an H200 (calibration/measurements/h200/variant_kernels.csv, hf_t5).
void t5_sdpa_forward(StepWriter& step, const T5AttentionShape& shape);
/// Down to the gradients of the projections' results and of this layer's bias, where it is added to
/// (T5AttentionPlace::last: it is the first) that of the layers behind.
void t5_sdpa_backward(StepWriter& step, const T5AttentionShape& shape, const T5AttentionPlace& place);

}  // namespace lockstep
