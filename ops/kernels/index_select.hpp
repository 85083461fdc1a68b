#pragma once

#include <string>

#include "ops/kernel_model.hpp"

namespace lockstep {

/// Rows of a dense table by index (nn.Embedding), or gradients added into it.
///
///   forward  : picks * (row read + row written + 8 bytes of index)
///   backward : picks * (row read + row read and written + 8 bytes of index); the zeroing of the gradient
///              table is a memset of its own
///
/// *Valid for* rows of at least one 32-byte sector. *Source*: PyTorch aten/src/ATen/native/cuda/Embedding.cu.
class IndexSelectModel final : public KernelModel {
 public:
  [[nodiscard]] std::string name() const override;
  [[nodiscard]] Prediction predict(const KernelCall& call, const GpuSpec& gpu) const override;
};

}  // namespace lockstep
