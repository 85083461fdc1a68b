#pragma once

/// @file
/// PyTorch's sorts and selections: the kernels of one operator each.
///
/// *Assumes* the kernels of PyTorch 2 (aten/src/ATen/native/cuda/{TensorTopK,Sort,SortStable}.cu) and of CUB,
/// and that blocks take as many instructions, and wait as many clocks, as on an H100: what was counted there
/// is said in sorting.cpp.

#include <cstdint>
#include <vector>

#include "ops/kernel.hpp"

namespace lockstep::kernels {

/// The greatest @p chosen of each of @p slices slices of @p length values (torch.topk): a block of at most
/// 1,024 threads a slice finds the smallest of them, two bits of its value a pass, and gathers.
[[nodiscard]] KernelCall select(std::int64_t slices, std::int64_t length, DataType type);

/// select(), and what it found sorted by a bitonic network, 16 threads for up to 32 values of a slice.
[[nodiscard]] std::vector<KernelCall> top_k(std::int64_t slices, std::int64_t length, std::int64_t chosen,
                                            DataType type);

/// A stable sort of each slice and where each value was: of at most 4,096 a block a slice, four bits a pass,
/// 32 values a thread; of more all slices at once, then once more by slice.
[[nodiscard]] std::vector<KernelCall> argsort(std::int64_t slices, std::int64_t length, DataType type);

/// @p count keys of @p key by their lowest @p bits, with values of 8 bytes, eight bits a pass
/// (cub::DeviceRadixSort: what each block found is looked up by the next, so that a pass is one kernel). Up
/// to 2,304 keys of 8 bytes are sorted by one block, six bits a pass, in one kernel.
[[nodiscard]] std::vector<KernelCall> radix_sort_pairs(std::int64_t count, DataType key, int bits);

}  // namespace lockstep::kernels
