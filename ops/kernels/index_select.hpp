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
/// With a block of threads for each row no more rows a second than an SM begins blocks: one in 158 clocks.
/// *Source*: gradients of nn.EmbeddingBag, 0.604 ns a row of 128 to 512 bytes on an H100 and an H200 alike,
/// 40,960 to 163,840 rows (calibration/measurements/*/pytorch_embedding.csv).
///
/// *Valid for* rows of at least one 32-byte sector. *Source*: PyTorch aten/src/ATen/native/cuda/Embedding.cu.
class IndexSelectModel final : public KernelModel {
 public:
  [[nodiscard]] std::string name() const override;
  [[nodiscard]] Prediction predict(const KernelCall& call, const GpuSpec& gpu) const override;
};

}  // namespace lockstep
