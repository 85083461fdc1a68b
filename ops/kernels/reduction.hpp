#pragma once

#include <string>

#include "ops/kernel_model.hpp"

namespace lockstep {

/// Sums along rows or across rows.
///
///   t = reduction_latency * (1.6 across rows, else 1) + time_to_move(input + outputs)
///
/// *Assumes* that the input is read once; the latency is the tree over warps and thread blocks, and sums
/// across rows meet a second time in global memory. *Valid for* inputs of any size. *Source*: roofline;
/// latencies from reduce_kernel in
/// ../shared/data/kernels/iteration_kernel_traces_v100.csv.gz (6.5 us for 2048 values, 9 us + input for sums
/// across rows).
class ReductionModel final : public KernelModel {
 public:
  [[nodiscard]] std::string name() const override;
  [[nodiscard]] Prediction predict(const KernelCall& call, const GpuSpec& gpu) const override;
};

}  // namespace lockstep
