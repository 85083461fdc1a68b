#pragma once

#include <string>

#include "ops/kernel_model.hpp"

namespace lockstep {

/// The lower triangle of a batch of square matrices, gathered by index (DLRM interaction) or scattered back.
///
///   picks    = batch * (n (n - 1) / 2 [+ n with the diagonal])
///   forward  : whole matrices read (sectors are shared by both triangles), picks written, indices read
///   backward : picks read, matrices updated with atomics
///
/// *Valid for* n = 2 to 256. *Source*: PyTorch IndexKernel.cu and Indexing.cu (access pattern).
class TriangularIndexModel final : public KernelModel {
 public:
  [[nodiscard]] std::string name() const override;
  [[nodiscard]] Prediction predict(const KernelCall& call, const GpuSpec& gpu) const override;
};

}  // namespace lockstep
