#pragma once

/// @file
/// The kernels that add gradients of looked-up rows into the zeros of a dense gradient (nn.Embedding).
///
/// *Source*: PyTorch aten/src/ATen/native/cuda/{Embedding,EmbeddingBackwardKernel}.cu; what their threads
/// take is read off an H100 (calibration/measurements/h100/pytorch_embedding.csv): of 1,024 picks 39 and 47
/// us whatever the row, of sorted ones 7.3 to 9.3 ps for an element of each pick in either kernel, and an
/// H200 takes as long.

#include <cstdint>
#include <vector>

#include "ops/kernel.hpp"

namespace lockstep::kernels {

/// More are sorted (PyTorch 1.8 and later).
inline constexpr std::int64_t kMostPicksUnsorted = 3072;

/// Few picks, one after the other: a block for 32 columns goes through all of them, 32 at a time.
[[nodiscard]] KernelCall add_picked_rows(std::int64_t picks, std::int64_t columns, DataType type);

/// Many picks are sorted by their row, all 64 bits of it.
[[nodiscard]] std::vector<KernelCall> sort_picks(std::int64_t picks);

/// Finds the first of each row among sorted picks.
[[nodiscard]] std::vector<KernelCall> find_sorted_rows(std::int64_t picks);

/// Sums what was sorted, ten at a time in FP32, a thread for each element of each pick. Then adds up the sums
/// of a row and writes them.
[[nodiscard]] std::vector<KernelCall> add_sorted_rows(std::int64_t picks, std::int64_t columns,
                                                      DataType type);

}  // namespace lockstep::kernels
