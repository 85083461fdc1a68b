#pragma once

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

}  // namespace lockstep
