#pragma once

#include <string>

#include "ops/kernel_model.hpp"

namespace lockstep {

/// Optimizer steps over dense parameters.
///
///   t = kernel_minimum + time_to_move(parameters * size * (reads + writes)) + tensors beyond the first: 0
///   when
///       fused; each kernel of a per-tensor optimizer is a call of its own
///
/// *Assumes* all passes stream. *Valid for* any size.
/// *Source*: roofline; passes per optimizer from torch/optim.
class OptimizerModel final : public KernelModel {
 public:
  [[nodiscard]] std::string name() const override;
  [[nodiscard]] Prediction predict(const KernelCall& call, const GpuSpec& gpu) const override;
};

}  // namespace lockstep
