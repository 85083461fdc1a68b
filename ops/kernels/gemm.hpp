#pragma once

#include <string>

#include "ops/kernel_model.hpp"

namespace lockstep {

/// Dense matrix products, batched or not (cuBLAS).
///
///   tiles   = batch * ceil(m / tm) * ceil(n / tn) * split,     k_tile = ceil(k / split)
///   compute = ceil(tiles / SMs) * 2 tm tn (k_tile + k_fixed) / (peak / SMs * efficiency(tm, tn))
///   memory  = time_to_move(A + B + C)
///   t       = kernel_minimum + min over (tm, tn, split) of max(compute, memory)
///
/// *Assumes* that cuBLAS picks the best of its tile shapes and splits of k, as its heuristics aim to.
/// *Valid for* m, n, k >= 1; checked from 1 MFLOP on against measured products (see docs/models.md).
/// *Source*: tiles and waves as in "Matrix Multiplication Background" (NVIDIA deep-learning performance
/// documentation); efficiencies from the measured products named in configs/gpus/.
class GemmModel final : public KernelModel {
 public:
  [[nodiscard]] std::string name() const override;
  [[nodiscard]] Prediction predict(const KernelCall& call, const GpuSpec& gpu) const override;
};

}  // namespace lockstep
