#pragma once

#include <string>

#include "ops/kernel_model.hpp"

namespace lockstep {

/// Fused attention (FlashAttention-2, FlashAttention 1 in Triton, and memory-efficient attention).
///
///   flops(forward)  = 4 batch heads queries head_size (columns(keys) + 80)
///   flops(backward) = 4 batch heads keys head_size (columns(queries) + 235) x 2.5 (five products, not two)
///   columns(n) = n, with a mask n / 2 + 64: blocks of 128 on the diagonal are computed whole
///   t = kernel_minimum + max(flops / (peak * attention * r * h * m * busy), bytes of Q, K, V, O / streaming
///   bandwidth)
///   busy = tiles / (ceil(tiles / SMs) * SMs),  tiles = batch heads ceil(rows / 128)
///   r = 1 forward, 0.88 backward; version 1: 1 / 1.4 and 0.88 / 2;
///       memory-efficient 1 / 2 and 0.88 / 2
///   peak: of the call's type; memory-efficient in FP32, where the GPU has TF32, a third of TF32's (3xTF32)
///   h = 1 / (0.858 + 0.142 * 128 / min(head_size, 128)): narrow heads have as many exponentials
///   m = 0.92 with a mask: tiles differ in length
///
/// The 80 and 235 are columns in whose time a tile loads, divides and writes, backward also the kernels
/// before and behind. All constants are fitted to 36 rates of FlashAttention-2 on H100 (arXiv 2407.08608,
/// figures 5 and 6), met within 7 % from 1,024 tokens on, 16 % at 512 with a mask; `attention` alone differs
/// by GPU.
///
/// Version 1 does what is no matrix product more often (the result is rescaled in every block of keys and the
/// mask applied in every block, at a sixteenth of the tensor cores' rate; section 3.1), splits keys among
/// warps that then meet in shared memory (3.3), and adds up the queries' gradients with atomics. Both run a
/// tile a thread block: the Triton kernels put 128 queries (backward: 128 keys) of a head on an SM, unlike
/// the CUDA kernels of version 1, which put a whole head there.
/// Memory-efficient attention (xFormers in CUTLASS) in FP32 takes three products of TF32 in place of one on
/// GPUs of compute capability 8.0 and later (DefaultGemmType of mem_eff_attention/gemm_kernel_utils.h in
/// PyTorch); its ratio to FlashAttention-2, which arXiv 2307.08691 has measured in 16 bits, is assumed for
/// FP32 too.
/// *Assumes* that a partial wave of tiles leaves SMs idle; that version 1's ratios on A100 hold elsewhere.
/// *Valid for* head sizes 32-256, version 1: 32-128.
/// *Source*: Shah et al., arXiv 2407.08608; Dao, arXiv 2307.08691 (sections 3 and 4.1); version 1: Dao et
/// al., arXiv 2205.14135, and flash_attn_triton.py of Dao-AILab/flash-attention v1.
class FlashAttentionModel final : public KernelModel {
 public:
  [[nodiscard]] std::string name() const override;
  [[nodiscard]] Prediction predict(const KernelCall& call, const GpuSpec& gpu) const override;
};

}  // namespace lockstep
