#pragma once

#include <string>

#include "ops/kernel_model.hpp"

namespace lockstep {

/// Sums along rows or across rows.
///
///   t = reduction_latency * (1.75 across rows, else 1) + time_to_move(input + outputs)
///
/// *Assumes* that the input is read once; the latency is the tree over warps and thread blocks, and sums
/// across rows meet a second time in global memory. *Valid for* inputs of any size. *Source*: roofline;
/// latencies from reduce_kernel in
/// ../shared/data/kernels/iteration_kernel_traces_v100.csv.gz (5.5 us for 2048 values, 9.5 us + input for
/// sums across rows).
class ReductionModel final : public KernelModel {
 public:
  [[nodiscard]] std::string name() const override;
  [[nodiscard]] Prediction predict(const KernelCall& call, const GpuSpec& gpu) const override;
};

}  // namespace lockstep
