#pragma once

#include <string>

#include "ops/kernel_model.hpp"

namespace lockstep {

/// Table-batched embedding look-up (FBGEMM) and its backward pass fused with the optimizer.
///
///   per table   N = batch * pooling factor look-ups of `row` bytes (whole 32-byte sectors)
///   distinct    d = distinct_rows(): rows (1 - (1 - 1/rows)^N) for uniform indices
///   cached      X = 0.9 L2 / (row * tables at a time),  tables at a time = ceil(45 warps * SMs / batch)
///   misses      d <= X: d;   else X + (N - X) (d - X) / d
///   forward     DRAM: misses * row + batch * (row written + 96 + sectors of 8-byte indices);
///               level 2: (N - misses) * row
///   backward    DRAM: 2 d (row + optimizer state) + batch * (row + 96 + sectors of indices);
///               level 2: N gradient rows
///   latency     longest pooling factor * row_latency * max(1, bags / (45 warps * SMs))
///   t = kernel_minimum + max(DRAM / (streaming * random_rows or scattered_update), level 2 / L2 bandwidth,
///   latency, host memory / pinned copy rate)
///
/// N and d are those of rows on the GPU, DRAM of its optimizer state excepted: row-wise states are on the GPU
/// wherever the rows are (FBGEMM split_table_batched_embeddings_ops_training.py, construct_split_state). Rows
/// in host memory: host_traffic().
///
/// *Assumes* uniform indices unless a reuse factor or popularities are given; one warp per bag that waits for
/// every row; the kernels that sort the indices before backward are separate calls. *Valid for* dimension 16
/// to 512. *Source*: hit rate, 0.9, 45 warps and per-bag bytes from Lin et al., arXiv 2201.07821 and its
/// public code, with these repairs: the level-2 bandwidth is the GPU's measured one instead of a function
/// whose constants are lost; reuse comes from the data where it is known; backward updates each distinct row
/// once (FBGEMM sorts) instead of a falling product over look-ups. Latency of a bag:
/// ../shared/data/embedding/v100_dlrm8_embedding_costs.csv.
class EmbeddingBagsModel final : public KernelModel {
 public:
  [[nodiscard]] std::string name() const override;
  [[nodiscard]] Prediction predict(const KernelCall& call, const GpuSpec& gpu) const override;
};

}  // namespace lockstep
