#pragma once

#include <cstdint>
#include <vector>

#include "ops/workload/layers/attention.hpp"

namespace lockstep {

/// scaled_dot_product_attention with a fused kernel (AttentionShape::kernels), and what lies round it: other
/// kernels of its backward, views.
void fused_attention_forward(StepWriter& step, const AttentionShape& shape);
void fused_attention_backward(StepWriter& step, const AttentionShape& shape);

/// Memory-efficient attention's backward: queries' gradients are summed in FP32 and begin as zeros; in FP32
/// row sums of gradient times context are operators before, laid out as the kernel reads them, in 16 bits the
/// kernel makes them itself. *Assumes* compute capability 8.0 or later: of heads wider than 64 V100's kernel
/// does not.
/// *Source*: PyTorch, mem_eff_attention/kernel_backward.h (kKernelComputesDelta) and attention_backward.cu;
/// kernels as the profiler lists them (calibration/measurements/h100/pytorch_attention.csv).
[[nodiscard]] std::vector<KernelCall> efficient_backward_calls(const FlashAttention& work, DataType type);

/// Kernels of FlashAttention 2 and 3 take heads of multiples of 8. Others are copied into larger tensors of
/// zeros: queries, keys and values before forward, whose result's columns are copied out, and the result's
/// gradient before backward. PyTorch then copies the gradients of all three out; FlashAttention's package has
/// views of them.
/// @param calls of attention, the work of one of which is @p work
/// @param kv_heads heads of keys and values
/// @return the kernels, and round them those copies, of sizes off 8
/// *Source*: flash_attn_interface.py, FlashAttnFunc (`head_size_og % 8`); PyTorch,
/// aten/src/ATen/native/transformers/attention.cpp, pad_last_dim<8>; PadNd.cpp (a fill and a copy).
[[nodiscard]] std::vector<KernelCall> with_padded_heads(std::vector<KernelCall> calls,
                                                        const FlashAttention& work, std::int64_t kv_heads,
                                                        bool is_pytorch);

}  // namespace lockstep
