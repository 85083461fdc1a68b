#pragma once

#include <string>

#include "ops/kernel_model.hpp"

namespace lockstep {

/// Fused attention (FlashAttention-2, and FlashAttention 1 in Triton).
///
///   flops(forward)  = 4 batch heads queries keys head_size, half of it when causal
///   flops(backward) = 2.5 times as many (five products instead of two)
///   t = kernel_minimum + max(flops / (peak * attention * r * busy), bytes of Q, K, V, O / streaming
///   bandwidth) busy = tiles / (ceil(tiles / SMs) * SMs),  tiles = batch heads ceil(rows / 128) r    = 1
///   forward, 0.8 backward; version 1: 1 / 1.4 and 0.8 / 2
///
/// Version 1 does what is no matrix product more often (the result is rescaled in every block of keys and the
/// mask applied in every block, at a sixteenth of the tensor cores' rate; section 3.1), splits keys among
/// warps that then meet in shared memory (3.3), and adds up the queries' gradients with atomics. Both run a
/// tile a thread block: the Triton kernels put 128 queries (backward: 128 keys) of a head on an SM, unlike
/// the CUDA kernels of version 1, which put a whole head there.
/// *Assumes* that a partial wave of tiles leaves SMs idle; that version 1's ratios on A100 hold elsewhere.
/// *Valid for* head sizes 32-256, version 1: 32-128.
/// *Source*: Dao, arXiv 2307.08691 (section 3 and figures 4-6); version 1: Dao et al., arXiv 2205.14135, and
/// flash_attn_triton.py of Dao-AILab/flash-attention v1.
class FlashAttentionModel final : public KernelModel {
 public:
  [[nodiscard]] std::string name() const override;
  [[nodiscard]] Prediction predict(const KernelCall& call, const GpuSpec& gpu) const override;
};

}  // namespace lockstep
