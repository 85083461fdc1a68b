#pragma once

#include <string>

#include "ops/kernel_model.hpp"

namespace lockstep {

/// Sums along rows or across rows.
///
///   t = 2 kernel_minimum + time_to_move((rows * columns + outputs) * size)
///
/// *Assumes* one read of the input; the second minimum is the tree over warps and blocks.
/// *Valid for* inputs of any size. *Source*: roofline; Lin et al., arXiv 2201.07821.
class ReductionModel final : public KernelModel {
 public:
  [[nodiscard]] std::string name() const override;
  [[nodiscard]] Prediction predict(const KernelCall& call, const GpuSpec& gpu) const override;
};

}  // namespace lockstep
