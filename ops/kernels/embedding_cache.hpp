#pragma once

#include <string>

#include "ops/kernel_model.hpp"

namespace lockstep {

/// Rows on their way between host memory and the cache of a table (FBGEMM's lru_cache_insert_kernel).
///
///   t = kernel_minimum + max(2 inserted * row / (streaming * random_rows), host traffic / pinned copy rate)
///
/// *Assumes*, *Valid for*, *Source*: batch_rows(), host_traffic().
class EmbeddingCacheModel final : public KernelModel {
 public:
  [[nodiscard]] std::string name() const override;
  [[nodiscard]] Prediction predict(const KernelCall& call, const GpuSpec& gpu) const override;
};

}  // namespace lockstep
