#pragma once

#include <string>

#include "ops/kernel_model.hpp"

namespace lockstep {

/// Table-batched embedding lookup (FBGEMM) and its backward pass fused with the optimizer.
///
///   waits    = row_latency * (max(waits / bags at a time, longest wait)
///                             + max(waits of blocks / blocks at a time, longest block))
///   dram     = DRAM / (streaming * random_rows or scattered_update)
///   level 2  = level 2 / L2 bandwidth (forward `cached_rows` times that: reads alone)
///   level 1  = level 1 / (SMs * 64 B * clock)
///   host     = host memory / pinned copy rate
///   issue    = time_to_issue(instructions) of a kernel that FBGEMM generates, by its name; 0 of others,
///   whose
///              loops over rows are shorter (those of Lin et al. and of lockstep-measure)
///   forward  t = kernel_minimum + first_row
///                + (waits^4 + dram^4 + level 2^4 + level 1^4 + issue^4 + host^4)^(1/4)
///
///   backward t = kernel_minimum + max(waits, dram, level 2, host)
///
/// with bytes and waits of embedding_load(). A group of threads looks up a bag row by row and takes the next
/// bag when it is done, so that the kernel waits as long as the rows of all bags, divided among groups, or as
/// the longest bag: a list schedule ends at most one bag later than that.
///
/// *Assumes* one row under way for each bag; the kernels that sort the indices before backward are separate
/// calls. *Valid for* dimension 16 to 512. *Source*: as embedding_load(), with these repairs to Lin et al.:
/// the level-2 bandwidth is the GPU's measured one instead of a function whose constants are lost; reuse
/// comes from the data where it is known; backward updates each distinct row once (FBGEMM sorts) instead of a
/// falling product over lookups. row_latency: ../shared/data/embedding/v100_dlrm8_embedding_costs.csv.
class EmbeddingBagsModel final : public KernelModel {
 public:
  [[nodiscard]] std::string name() const override;
  [[nodiscard]] Prediction predict(const KernelCall& call, const GpuSpec& gpu) const override;
};

}  // namespace lockstep
