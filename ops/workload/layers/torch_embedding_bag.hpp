#pragma once

#include "ops/workload/layers/embedding_bag.hpp"

namespace lockstep {

/// torch.nn.EmbeddingBag(mode="sum"), a module for each table of the only rank: what
/// embedding_bag_forward() and its like write for EmbeddingKernels::EmbeddingBag. *Source*:
/// aten/src/ATen/native/cuda/EmbeddingBag.cu, EmbeddingBag.cpp (_embedding_bag_sparse_backward); kernels and
/// operators of tests/data/h200_steps/dlrm_b2048_tf32.

/// Table by table: with fixed bags their offsets, then one kernel; behind all of them the casts.
void torch_bags_forward(StepWriter& step, const EmbeddingBagShape& bags);

/// Table by table: the cast, and the gradient's values: each lookup's copy of its sample's row. Rows that
/// repeat stay apart. Dense: the whole table's gradient (_embedding_bag_dense_backward).
void torch_bags_backward(StepWriter& step, const EmbeddingBagShape& bags);

/// torch.optim.SGD: each table's values added row by row (add_dense_sparse_, index_add_ with atomics).
void torch_bags_update(StepWriter& step, const EmbeddingBagShape& bags);

namespace kernels {

/// The offsets of bags of equal length.
[[nodiscard]] KernelCall bag_offsets(std::int64_t bags);
/// Sums of @p batch samples' rows of a table: a warp for 32 columns of a sample, 8,192 of them at a time,
/// which goes through its lookups one by one in 50 instructions each (checks, indices of 64 bits, where each
/// lookup belongs), behind 20 loads that wait for each other. *Source*: lookups of an H100, 12 G a second
/// and 32 columns of tables of 256 MB and more (20 G of one of 5 MB: 32 instructions), and 2.05 us before a
/// chunk's second one (calibration/measurements/h100/pytorch_embedding.csv); an H200 is as fast. *Assumes*
/// that reuse of rows matters little.
[[nodiscard]] KernelCall bag_look_up(std::int64_t batch, const EmbeddingTable& table);
/// The values of its sparse gradient: of each lookup the row of its sample.
[[nodiscard]] KernelCall bag_gradient(std::int64_t batch, const EmbeddingTable& table);
/// In place of them, without sparse=True: the gradient of the pooled rows copied together, lookups sorted by
/// row and summed into zeros as large as the table (EmbeddingBag.cu, embedding_bag_backward_cuda_sum_avg).
/// What the kernels of sums take is that of nn.Embedding's.
[[nodiscard]] std::vector<KernelCall> bag_dense_gradient(std::int64_t batch, const EmbeddingTable& table);
/// The values added to the table.
[[nodiscard]] KernelCall bag_update(std::int64_t batch, const EmbeddingTable& table);

}  // namespace kernels

}  // namespace lockstep
