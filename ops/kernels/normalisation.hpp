#pragma once

#include <string>

#include "ops/kernel_model.hpp"

namespace lockstep {

/// Softmax and layer norm, forward and backward: rows held on the chip while two passes run over them.
///
///   softmax:    forward 1 read + 1 write, backward 2 reads + 1 write of rows * columns elements
///   layer norm: forward 1 read + 1 write; input gradient 2 reads + 1 write; parameter gradient 2 reads
///   t = kernel_minimum + time_to_move(...)
///
/// *Assumes* that a row fits on the chip. *Valid for* rows of up to 64 Ki elements.
/// *Source*: PyTorch aten/src/ATen/native/cuda/{SoftMax,layer_norm_kernel}.cu (what is read and written).
class NormalisationModel final : public KernelModel {
 public:
  [[nodiscard]] std::string name() const override;
  [[nodiscard]] Prediction predict(const KernelCall& call, const GpuSpec& gpu) const override;
};

}  // namespace lockstep
