#pragma once

#include <string>

#include "ops/kernel_model.hpp"

namespace lockstep {

/// Optimizer steps over dense parameters.
///
///   one tensor:      t = kernel_minimum + moved, moved = time_to_move(parameters * size * (reads + writes))
///   several tensors: t = kernel_minimum + cbrt((moved / 0.87)^3 + chunks^3)
///                    chunks = rounds * chunk / 2048 * 0.64 us + time_to_issue(parameters * flops * 3.3)
///
/// A kernel of several tensors gives each block a chunk of 65,536 elements (or a tensor, where they are
/// smaller), of which 512 threads take four each at a time and wait for them; four such blocks are on an SM
/// at once, two of a whole AdamW (61 registers). In 32 bits memory decides, in 16 the waits are as long. Each
/// kernel of a per-tensor optimizer is a call of its own.
///
/// *Assumes* that other GPUs wait as long. *Valid for* any size. *Source*: roofline; passes per optimizer
/// from torch/optim; chunks from ATen/native/cuda/MultiTensorApply.cuh. 0.87: AdamW and SGD over GPT-2's
/// parameters in FP32, 56, 9, 21 and 7 kernels on an H100 and an H200, 0.78 to 0.91
/// (calibration/measurements/*/ pytorch_optimizer.csv). 0.64 us, the power of three: AdamW in BF16 over
/// Llama 3.2 1B, an H100's and an H200's kernels of one pass each; 3.3 instructions: the H100's fused one
/// (calibration/measurements/*/ variant_kernels.csv).
class OptimizerModel final : public KernelModel {
 public:
  [[nodiscard]] std::string name() const override;
  [[nodiscard]] Prediction predict(const KernelCall& call, const GpuSpec& gpu) const override;
};

}  // namespace lockstep
