#pragma once

/// @file
/// Kernels that TorchInductor generates, named as it names them: triton_poi (element-wise), triton_per (a
/// reduction whose row fits into a block), triton_red (one that goes through its row in a loop).

#include <cstdint>
#include <string_view>

#include "ops/workload/layers/kernels.hpp"
#include "ops/workload/step_writer.hpp"

namespace lockstep::triton {

/// `triton_poi_fused_<what>`.
[[nodiscard]] KernelCall pointwise(std::string_view what, std::int64_t elements, DataType type,
                                   kernels::Passes passes);

/// `triton_per_fused_<what>` for rows of up to 1,024 elements, else `triton_red_fused_<what>`.
/// *Source*: PyTorch 2.1 torch/_inductor, the threshold of persistent reductions along contiguous rows.
[[nodiscard]] KernelCall over_rows(std::string_view what, const Softmax& work, DataType type);
[[nodiscard]] KernelCall over_rows(std::string_view what, const LayerNorm& work, DataType type);

/// The sums of the columns of a matrix (a bias's gradient), in two kernels where there are too few columns to
/// occupy a GPU: pieces of up to 128 rows, at most 64, then their sums.
/// *Source*: what Inductor wrote for GPT-2 and BERT (github.com/thuml/learn_torch.compile): 4 pieces of 512
/// rows for 768 to 3,072 columns, one kernel for 30,522.
void sum_columns(StepWriter& step, std::int64_t rows, std::int64_t columns, DataType type);

/// Cross entropy of logits, or its gradient, without a stored log-softmax (PyTorch 2.7): one pass over the
/// logits finds the maximum and the sum of each row, one makes the gradient of them.
/// @param reads of backward besides the logits, in tensors of @p logits
[[nodiscard]] KernelCall online_softmax(std::int64_t rows, std::int64_t classes, DataType logits);
[[nodiscard]] KernelCall online_softmax_gradient(std::int64_t rows, std::int64_t classes, DataType logits,
                                                 double reads);
/// The mean of what labels pick of the rows' log-softmax.
[[nodiscard]] KernelCall mean_of_picks(std::int64_t rows);

/// Rows or columns of a product's operand as Inductor pads them for tensor cores, to 16 bytes of 16-bit
/// numbers and as many of TF32's as fill 16; it times both forms, and where rows are not aligned the padded
/// one wins. *Source*: PyTorch 2.2 torch/_inductor/fx_passes/pad_mm.py (config.shape_padding).
[[nodiscard]] std::int64_t padded_for_tensor_cores(std::int64_t elements, DataType product);

/// The second of these kernels: sums of what so many rows left behind.
void sum_pieces(StepWriter& step, std::int64_t rows, std::int64_t columns);

}  // namespace lockstep::triton
