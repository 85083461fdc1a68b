#pragma once

#include <string>

#include "ops/kernel_model.hpp"

namespace lockstep {

/// Element-wise arithmetic: activations, additions, masks, casts.
///
///   t = kernel_minimum + max(time_to_move(elements * size * (reads + writes)), elements * flops / peak FP32)
///
/// *Assumes* contiguous operands. *Valid for* any number of elements.
/// *Source*: roofline; arithmetic counts by operator in Lin et al., arXiv 2201.07821.
class PointwiseModel final : public KernelModel {
 public:
  [[nodiscard]] std::string name() const override;
  [[nodiscard]] Prediction predict(const KernelCall& call, const GpuSpec& gpu) const override;
};

}  // namespace lockstep
