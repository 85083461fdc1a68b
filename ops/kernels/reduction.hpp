#pragma once

#include <string>

#include "ops/kernel_model.hpp"

namespace lockstep {

/// Sums along rows or across rows.
///
///   t = reduction_latency + time_to_move(input + outputs)                              along rows
///   t = 1.75 reduction_latency + 1.6 rows / clock + time_to_move(input + outputs)      across rows
///
/// *Assumes* that the input is read once; the latency is the tree over warps and thread blocks, and sums
/// across rows meet a second time in global memory. *Valid for* inputs of any size. *Source*: roofline;
/// latencies from reduce_kernel in
/// ../shared/data/kernels/iteration_kernel_traces_v100.csv.gz (5.5 us for 2048 values, 9.5 us + input for
/// sums across rows). 1.6 clocks: 512 to 65,536 rows of 256 to 16,384 elements in 16 and 32 bits on an H100
/// and an H200, whose sums take 8 us and 0.8 ns a row beside what they move
/// (calibration/measurements/*/pytorch_reduction.csv).
class ReductionModel final : public KernelModel {
 public:
  [[nodiscard]] std::string name() const override;
  [[nodiscard]] Prediction predict(const KernelCall& call, const GpuSpec& gpu) const override;
};

}  // namespace lockstep
