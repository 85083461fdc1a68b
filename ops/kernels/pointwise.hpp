#pragma once

#include <string>

#include "ops/kernel_model.hpp"

namespace lockstep {

/// Element-wise arithmetic: activations, additions, masks, casts.
///
///   t     = kernel_minimum + max(time_to_move(elements * size * (reads + writes)), elements * flops / peak
///   FP32,
///                                elements * instructions / (issued * 0.65))
///   issued = sm_count * 128 * clock, clock = peak FP32 / (sm_count * cores_per_sm * 2)
///
/// An SM has four schedulers that issue an instruction for 32 threads each clock. Kernels of dependent
/// integer instructions reach 0.65 of that.
///
/// *Assumes* contiguous operands; for instructions, enough threads to hide latencies (2,048 resident on an
/// SM; with 1,024, as on Turing, a quarter slower). *Valid for* any number of elements; instructions: Volta
/// and later (GP100 has two schedulers, and Pascal multiplies integers in three instructions). *Source*:
/// roofline; arithmetic counts by operator in Lin et al., arXiv 2201.07821; schedulers: NVIDIA's Volta,
/// Ampere and Hopper whitepapers; 0.65 fitted to PyTorch's max_pool_backward_nchw on a V100 (0.64) and a H100
/// (0.65),
/// ../shared/data/traces/{resnet50_v100_loader_in_process,vgg13_h100}.
class PointwiseModel final : public KernelModel {
 public:
  [[nodiscard]] std::string name() const override;
  [[nodiscard]] Prediction predict(const KernelCall& call, const GpuSpec& gpu) const override;
};

}  // namespace lockstep
