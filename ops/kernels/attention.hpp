#pragma once

#include <string>

#include "ops/kernel_model.hpp"

namespace lockstep {

/// Fused attention (FlashAttention-2).
///
///   flops(forward)  = 4 batch heads queries keys head_size, half of it when causal
///   flops(backward) = 2.5 times as many (five products instead of two)
///   t = kernel_minimum + max(flops / (peak * attention), bytes of Q, K, V, O / streaming bandwidth)
///
/// *Assumes* enough (batch, head, 128-row block) tiles to fill the SMs; fewer are counted as idle SMs.
/// *Valid for* head sizes 32-256; backward reaches 0.8 of the forward rate.
/// *Source*: Dao, arXiv 2307.08691 (section 3 and figures 4-6).
class FlashAttentionModel final : public KernelModel {
 public:
  [[nodiscard]] std::string name() const override;
  [[nodiscard]] Prediction predict(const KernelCall& call, const GpuSpec& gpu) const override;
};

}  // namespace lockstep
