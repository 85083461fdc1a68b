#pragma once

#include <string>

#include "ops/kernel_model.hpp"

namespace lockstep {

/// Dense matrix products, batched or not (cuBLAS).
///
///   blocks  = ceil(batch * ceil(m / rows) * ceil(n / columns) * split / SMs)             on the fullest SM
///   full    = w / (w + half_warps) * (16 + half_warps) / 16,      w = min(blocks * warps, 16)
///   compute = blocks * 2 rows columns (ceil(k / split) + fixed_depth) / (peak / SMs * efficiency * full)
///   memory  = (A + B + C [+ (split + 1) C when k is split]) / (DRAM bandwidth * memory)
///   t       = fixed [* 1.5 when k is split] + min over tile shapes and splits of max(compute, memory)
///
/// *Assumes* that the library picks the best of its tile shapes and splits of k, as its heuristics aim to;
/// that operands come from DRAM once; that FP8 reaches the same parts of its peak as 16 bits do (Derived) and
/// leaves results of 16 bits.
/// *Valid for* m, n, k >= 1. Checked for m, n, k of 16 to 40,000 and from 4 us on (docs/models.md).
/// *Source*: tiles and waves as in NVIDIA's "Matrix Multiplication Background" guide; constants fitted by
/// tools/derive/gemm_profiles.py to the measured products that configs/kernel_efficiency/ names.
class GemmModel final : public KernelModel {
 public:
  [[nodiscard]] std::string name() const override;

  /// @throws std::invalid_argument when the GPU has no unit for the type, or a size is below 1
  [[nodiscard]] Prediction predict(const KernelCall& call, const GpuSpec& gpu) const override;
};

}  // namespace lockstep
