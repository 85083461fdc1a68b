#pragma once

#include <string>

#include "ops/kernel_model.hpp"

namespace lockstep {

/// Element-wise arithmetic: activations, additions, masks, casts.
///
///   move  = time_to_move(elements * size * (reads + writes))
///   issue = max(elements * flops / peak FP32, time_to_issue(elements * instructions))
///   t     = kernel_minimum + max(move, issue)            each hides behind the other
///           kernel_minimum + sqrt(move^2 + issue^2)      in_step: a block's reads wait for its arithmetic
///
/// *Assumes* contiguous operands. *Valid for* any number of elements. *Source*: roofline; arithmetic counts
/// by operator in Lin et al., arXiv 2201.07821; in_step: between the maximum and the sum of both, as dropout
/// on V100 lies (see dropout_forward()).
class PointwiseModel final : public KernelModel {
 public:
  [[nodiscard]] std::string name() const override;
  [[nodiscard]] Prediction predict(const KernelCall& call, const GpuSpec& gpu) const override;
};

}  // namespace lockstep
