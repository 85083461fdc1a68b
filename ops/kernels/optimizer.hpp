#pragma once

#include <string>

#include "ops/kernel_model.hpp"

namespace lockstep {

/// Optimizer steps over dense parameters.
///
///   t = kernel_minimum + time_to_move(parameters * size * (reads + writes)), of several tensors at 0.87 of
///       streaming; each kernel of a per-tensor optimizer is a call of its own
///
/// *Assumes* that other GPUs' kernels of many tensors, which go through them by chunks, lose what Hopper's
/// do. *Valid for* any size. *Source*: roofline; passes per optimizer from torch/optim. 0.87: AdamW and SGD
/// over GPT-2's parameters in 56, 9, 21 and 7 kernels on an H100 and an H200, 0.78 to 0.91
/// (calibration/measurements/*/pytorch_optimizer.csv).
class OptimizerModel final : public KernelModel {
 public:
  [[nodiscard]] std::string name() const override;
  [[nodiscard]] Prediction predict(const KernelCall& call, const GpuSpec& gpu) const override;
};

}  // namespace lockstep
