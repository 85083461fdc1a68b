#pragma once

#include <string>

#include "ops/kernel_model.hpp"

namespace lockstep {

/// Copies that do no arithmetic: concatenation, transposition, memcpy, memset.
///
///   concatenation: 1 read + 1 write at `copy_pieces` of the streaming bandwidth; of pieces that are not
///     contiguous at least time_to_issue(90 instructions an element)
///   transposition: 1 read + 1 write; a row or column shorter than a 32-byte sector wastes the rest of it
///   within the device: 1 read + 1 write; memset: 1 write, smallest_fill() in place of kernel_minimum
///   host <-> device: latency + size / PCIe rate of pinned or pageable memory (alone on the link; the
///   simulation moves these bytes over the links of the fabric instead)
///
/// 90: halves of heads in BF16 on an H100, 16.8 and 4.2 million elements in 73.3 and 18.7 us, where
/// contiguous ones take 25 (CatArrayBatchedCopy of hf_llama,
/// calibration/measurements/h100/variant_kernels.csv). *Valid for* any size. *Source*: Lin et al., arXiv
/// 2201.07821 (0.79 of DRAM bandwidth for concatenation); rates from configs/gpus/.
class CopyModel final : public KernelModel {
 public:
  [[nodiscard]] std::string name() const override;
  [[nodiscard]] Prediction predict(const KernelCall& call, const GpuSpec& gpu) const override;
};

}  // namespace lockstep
