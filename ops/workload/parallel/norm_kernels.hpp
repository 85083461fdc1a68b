#pragma once

#include <array>
#include <cstdint>

#include "ops/kernel.hpp"
#include "ops/workload/transformer_spec.hpp"

namespace lockstep {

/// Layer or RMS norm of a model of `implementation: megatron`, by TransformerSpec::norm_kernels other than
/// `operators`:
///
///   persistent  forward reads and writes a row once, which a block keeps in registers; backward reads the
///               input and the result's gradient once, writes the input's, and leaves sums of the parameters'
///               gradients in FP32, a row for each resident block (256), which a second kernel adds up. 10
///               and 14 instructions an element, counted: memory binds
///   apex, pytorch   layer_norm_kernel() of layers/layer_norm.hpp
///
/// *Source*: Transformer Engine (normalization/layernorm/ln_{fwd,bwd}_kernels.cuh,
/// ln_bwd_semi_cuda_kernel.cu), Apex (apex/contrib/csrc/layer_norm), whose author has 53.5 and 86.6 us for
/// 16,384 rows of 1,024 elements in FP16 on an A100 of 40 GB, where FusedLayerNorm takes 75.1 and 176.2
/// (github.com/NVIDIA/apex/pull/1037); Megatron-LM, megatron/model/fused_layer_norm.py. *Assumes* that RMS
/// norm's kernels of Apex issue as much as layer norm's. nanotron's and FlashAttention's kernels in Triton
/// are persistent, too.
[[nodiscard]] KernelCall norm_forward_kernel(const TransformerSpec& model, DataType type, std::int64_t rows,
                                             std::int64_t columns);
[[nodiscard]] std::array<KernelCall, 2> norm_backward_kernels(const TransformerSpec& model, DataType type,
                                                              std::int64_t rows, std::int64_t columns);

}  // namespace lockstep
