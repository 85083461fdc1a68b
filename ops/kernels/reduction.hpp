#pragma once

#include <string>

#include "ops/kernel_model.hpp"

namespace lockstep {

/// Sums along rows or across rows.
///
///   t = reduction_latency + time_to_move(input + outputs)                              along rows
///   t = 1.75 reduction_latency + 1.6 rows / clock + time_to_move(input + outputs)      across rows
///   t = reduction_latency + 47 rows / clock + time_to_move(input + outputs)            across fewer than
///   1,024
///
/// *Assumes* that the input is read once; the latency is the tree over warps and thread blocks, and sums
/// across rows meet a second time in global memory. *Valid for* inputs of any size. *Source*: roofline;
/// latencies from reduce_kernel in
/// ../shared/data/kernels/iteration_kernel_traces_v100.csv.gz (5.5 us for 2048 values, 9.5 us + input for
/// sums across rows). 1.6 clocks: 512 to 65,536 rows of 256 to 16,384 elements in 16 and 32 bits on an H100
/// and an H200, whose sums take 8 us and 0.8 ns a row beside what they move
/// (calibration/measurements/*/pytorch_reduction.csv). 47: PyTorch divides rows among blocks where a thread
/// would have 256 of them (setReduceConfig of aten/src/ATen/native/cuda/Reduce.cuh; those kernels come with a
/// memset of their semaphores), from 1,024 rows on; 512 rows take 18 to 19 us on both, in both types, and 16
/// rows of 16 to 512 columns 5 us on a V100 (../shared/data/traces/dlrm_8xv100).
class ReductionModel final : public KernelModel {
 public:
  [[nodiscard]] std::string name() const override;
  [[nodiscard]] Prediction predict(const KernelCall& call, const GpuSpec& gpu) const override;
};

}  // namespace lockstep
