#pragma once

/// @file
/// The small kernels that PyTorch's operators consist of, named as a profiler groups them.

#include <cstdint>
#include <string_view>

#include "ops/kernel.hpp"

namespace lockstep::kernels {

/// Passes over memory of an element-wise kernel, in tensors of its size, and arithmetic per element.
struct Passes {
  double reads = 1;
  double writes = 1;
  double flops = 1;
};

/// `vectorized_elementwise_kernel<what>` over contiguous tensors.
[[nodiscard]] KernelCall elementwise(std::string_view what, std::int64_t elements, DataType type,
                                     Passes passes);

[[nodiscard]] KernelCall fill(std::int64_t elements, DataType type);   ///< zero_, fill_, ones_like
[[nodiscard]] KernelCall add(std::int64_t elements, DataType type);    ///< of two tensors
[[nodiscard]] KernelCall mul(std::int64_t elements, DataType type);    ///< of two tensors
[[nodiscard]] KernelCall scale(std::int64_t elements, DataType type);  ///< mul, div, add by a scalar

/// A copy that changes the layout (`elementwise_kernel<copy>`), e.g. contiguous() of a transposed view.
[[nodiscard]] KernelCall strided_copy(std::int64_t elements, DataType type);

/// `unrolled_elementwise_kernel<copy>`: a copy of PyTorch 1 whose operands are broadcast or strided, so that
/// each element's offsets are computed: 100 operations for each of @p operands.
/// @param reads tensors of @p elements elements that come from memory: 0 for a broadcast row
/// *Source*: biases of 0.26 to 2.1 million elements, 4.5 to 17.2 us, and a slice of 719 thousand, 12.6 us, on
/// a V100 (../shared/data/kernels/iteration_kernel_traces_v100.csv.gz, April 2021); 6.5 million in 107 us in
/// fb_dlrm_trace_kernels_v100.csv
[[nodiscard]] KernelCall unrolled_copy(std::int64_t elements, double reads, int operands, DataType type);

/// `unrolled_elementwise_kernel<cast>`: read as @p from, written as @p to.
[[nodiscard]] KernelCall cast(std::int64_t elements, DataType from, DataType to);

/// A product; the name follows from the type: sgemm, tf32_gemm, hgemm, bf16_gemm; gemv for one row or column.
[[nodiscard]] KernelCall product(const Gemm& gemm, DataType type);

/// `reduce_kernel<what>`.
[[nodiscard]] KernelCall reduce(std::string_view what, const Reduction& reduction, DataType type);

/// `CatArrayBatchedCopy`.
[[nodiscard]] KernelCall concat(std::int64_t elements, std::int64_t pieces, DataType type);

[[nodiscard]] KernelCall copy_to_device(Bytes size, bool pinned);
[[nodiscard]] KernelCall copy_to_host(Bytes size, bool pinned);
[[nodiscard]] KernelCall copy_on_device(Bytes size);

}  // namespace lockstep::kernels
