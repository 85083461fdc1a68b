#pragma once

#include <string>

#include "ops/kernel_model.hpp"

namespace lockstep {

/// The lower triangle of a batch of square matrices, gathered by index (DLRM interaction) or scattered back.
///
///   picks    = batch * (n (n - 1) / 2 [+ n with the diagonal])
///   forward  : t = gather_latency + time_to_move(matrices read, picks written)
///   backward : t = kernel_minimum + picks * scatter_latency / (64 warps * SMs)
///
/// *Assumes* backward as PyTorch's indexing_backward_kernel does it: a warp per pick and matrix that waits
/// four times for memory (index, gradient, target, write), 2.3 us in all; sorting the indices is separate
/// calls. *Valid for* n = 2 to 256 and PyTorch up to 1.12 (later ones have a faster kernel for rows of one
/// element). *Source*: ../shared/data/kernels/iteration_kernel_traces_v100.csv.gz: 320 us for 2048 x 351
/// picks, 36 us for 2048 x 36; forward 17 to 21 us and 8.4 us.
class TriangularIndexModel final : public KernelModel {
 public:
  [[nodiscard]] std::string name() const override;
  [[nodiscard]] Prediction predict(const KernelCall& call, const GpuSpec& gpu) const override;
};

}  // namespace lockstep
