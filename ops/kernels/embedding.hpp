#pragma once

#include <string>

#include "ops/kernel_model.hpp"

namespace lockstep {

/// Table-batched embedding look-up (FBGEMM) and its backward pass fused with the optimizer.
///
///   look-ups       N = batch * pooling factor, per table
///   distinct rows  d = rows * (1 - (1 - 1/rows)^N), or N / reuse_factor when that is given
///   hit rate       h = 1 - misses / N
///                  d <= X: misses = d;  else misses = X + (N - X) (d - X) / d
///                  X: rows that fit in 0.9 of the level-2 cache, shared by the tables looked up at once
///   forward bytes  batch * (sectors of indices + 32 + 64 + row) + N (1 - h) row    from DRAM
///                  N h row                                                        from the level-2 cache
///   backward bytes per look-up: gradient row read (level-2), per distinct row: row and optimizer state read
///                  and written (DRAM)
///   t = kernel_minimum + max(DRAM bytes / (streaming * random_rows), level-2 bytes / level-2 bandwidth)
///
/// *Assumes* uniform indices unless a reuse factor is given; sorting of indices is separate calls.
/// *Valid for* dimension 16-512, pooling factor 0-200.
/// *Source*: Lin et al., arXiv 2201.07821, hit-rate model, with the cache bandwidth measured instead of a
/// missing function, and reuse given by the data where it is known.
class EmbeddingBagsModel final : public KernelModel {
 public:
  [[nodiscard]] std::string name() const override;
  [[nodiscard]] Prediction predict(const KernelCall& call, const GpuSpec& gpu) const override;
};

}  // namespace lockstep
