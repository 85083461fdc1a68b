#pragma once

#include <string>

#include "ops/kernel_model.hpp"

namespace lockstep {

/// Element-wise arithmetic: activations, additions, masks, casts.
///
///   move  = time_to_move(elements * size * (reads + writes))
///   issue = max(elements * flops / peak FP32, time_to_issue(elements * instructions) + chain)
///   t     = kernel_minimum + max(move, issue)            each hides behind the other
///           kernel_minimum + sqrt(move^2 + issue^2)      in_step: a block's reads wait for its arithmetic
///           smallest_fill() in place of kernel_minimum   where nothing is read
///
///   sector_window: of one operand a sector of 32 bytes is moved for each element. All come from the level-2
///     cache, and again from memory where the sectors of a window do not stay there:
///     move = max(elements * 32 B / L2 bandwidth, time_to_move(the other bytes) + extra / DRAM bandwidth),
///     extra = (1 - resident) * elements * (32 B - size), resident as in time_to_move() of a window's sectors
///   chain: the loads of a thread that wait for each other, 200 clocks each; beside instructions those of the
///     last block, behind which nothing is left to issue
///
/// *Assumes* contiguous operands but for sector_window. *Valid for* any number of elements. *Source*:
/// roofline; arithmetic counts by operator in Lin et al., arXiv 2201.07821; in_step: between the maximum and
/// the sum of both, as dropout on V100 lies (see dropout_forward()); sectors: CUDA C++ Best Practices Guide,
/// strided accesses; 200 clocks of a load that hits the level-2 cache: 193 on V100 (Jia et al., arXiv
/// 1804.06826, table 3.1), 188 on T4 (arXiv 1903.07486), 200 on A100 (Abdelkhalik et al., arXiv 2208.11174).
class PointwiseModel final : public KernelModel {
 public:
  [[nodiscard]] std::string name() const override;
  [[nodiscard]] Prediction predict(const KernelCall& call, const GpuSpec& gpu) const override;
};

}  // namespace lockstep
