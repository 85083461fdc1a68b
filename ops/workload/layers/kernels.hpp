#pragma once

/// @file
/// The small kernels that PyTorch's operators consist of, named as a profiler groups them.

#include <cstdint>
#include <string_view>
#include <vector>

#include "ops/kernel.hpp"

namespace lockstep::kernels {

/// Passes over memory of an element-wise kernel, in tensors of its size, and work per element.
struct Passes {
  double reads = 1;
  double writes = 1;
  double flops = 1;
  double instructions = 0;  ///< of a thread, all of them; 0: too few to matter
};

/// Instructions per element of PyTorch's element-wise kernels that are not vectorised: they compute the
/// offsets of each element (a broadcast or strided operand) or convert by types that are known at run time.
/// *Source*: at the rate that PointwiseModel issues them, 67 are 5.3 ps of an element on A100, 6.6 on
/// V100, 4.1 on H100 PCIe, 3.1 on H200 and 2.8 on B200. Measured: casts from 16 bits to FP32 5.3 (A100, 67
/// million elements less 7 us of launch, github.com/pytorch/pytorch/pull/195542), FP32 to FP16 4.1 (H100
/// PCIe, .../pull/137053), BF16 to FP32 2.6 (B200, github.com/PaddlePaddle/Paddle/pull/76988), a broadcast
/// operand in 16 bits 3.1 to 3.4 (H200, PReLU, github.com/tile-ai/TileOPs/pull/500), copies of a broadcast
/// row 6.4 to 6.9 (V100, unrolled_copy()). A bias added to images in FP32 takes 3.4 (H100) and 7.6 (A100,
/// where that is more than its memory's 5.9 too;
/// ../shared/data/traces/vgg13_h100, cuda_sync/alexnet). index_select in 16 bits gained 2.5 times by vectors
/// (.../pytorch/pull/152376). PyTorch 2.6 and later vectorise FP32 to 16 bits on
/// Hopper.
inline constexpr double kUnvectorised = 67;

/// `vectorized_elementwise_kernel<what>` over contiguous tensors.
[[nodiscard]] KernelCall elementwise(std::string_view what, std::int64_t elements, DataType type,
                                     Passes passes);

/// `elementwise_kernel<what>` of an operand of type @p from and one of @p to that is broadcast: offsets and
/// conversions, 104 instructions, Pointwise::in_step. *Source*: scores in BF16 and a mask in FP32 added on an
/// H100, 134 million elements in 718 us (hf_opt_1b3, calibration/measurements/h100/variant_kernels.csv); 50
/// million on an H200 in 228 (hf_t5; held out).
[[nodiscard]] KernelCall broadcast_of_two_types(std::string_view what, std::int64_t elements, DataType from,
                                                DataType to);

[[nodiscard]] KernelCall fill(std::int64_t elements, DataType type);   ///< zero_, fill_, ones_like
[[nodiscard]] KernelCall add(std::int64_t elements, DataType type);    ///< of two tensors
[[nodiscard]] KernelCall mul(std::int64_t elements, DataType type);    ///< of two tensors
[[nodiscard]] KernelCall scale(std::int64_t elements, DataType type);  ///< mul, div, add by a scalar

/// x / (1 + exp(-x)) and its backward: 22 and 31 instructions an element at the rate that PointwiseModel
/// issues them. *Source*: BF16 on an H200, 67 million elements in 69 and 98 us where a ReLU takes 62 and 89
/// (calibration/measurements/h200/pytorch_pointwise.csv); on an H100 they are the ReLU's, memory binds.
[[nodiscard]] KernelCall silu(std::int64_t elements, DataType type);
[[nodiscard]] KernelCall silu_backward(std::int64_t elements, DataType type);

/// `elementwise_kernel<what>`: operands that are broadcast or strided (kUnvectorised).
[[nodiscard]] KernelCall by_offsets(std::string_view what, std::int64_t elements, DataType type,
                                    Passes passes);

/// `unrolled_elementwise_kernel<what>`: operands of two types, converted as they are read (kUnvectorised).
/// A block's conversions follow its reads (Pointwise::in_step). *Source*: FP32 and BF16 added on an H200, 3.1
/// million elements in 12.5 us, where vectors take 8.5 (tests/data/h200_steps, gpt2_b4_bf16); on an H100, 8.4
/// and 16.8 million in 38 to 39 and 77 us (hf_opt_1b3, hf_bert_large, hf_gpt2_medium,
/// calibration/measurements/h100/variant_kernels.csv).
[[nodiscard]] KernelCall of_two_types(std::string_view what, std::int64_t elements, DataType type,
                                      Passes passes);

/// Elements picked along another dimension than the first, `indexSelectLargeIndex`: eight blocks of 128
/// threads an SM, and of each element a thread divides to find its index, reads that, then what it picks: 119
/// instructions. *Source*: 10 million of 4 bytes out of 1000 in 95.4 us by 864 blocks, eight for each SM of
/// an A100 (github.com/pytorch/pytorch/issues/111247); a second dimension, whose offset is divided too, is
/// assumed to take no longer. Rows picked by the first dimension have vectors since PyTorch 2.8.
/// @param indices how many elements of the picked dimension there are
[[nodiscard]] KernelCall index_select(std::int64_t elements, std::int64_t indices, DataType type);

/// Elements added to others by index, `indexFuncLargeIndex<ReduceAdd>`: the loop of index_select(), at whose
/// end is an atomic addition. Of 16 bits that takes 187 instructions: neighbours share the 4 bytes around an
/// element and displace each other; of FP32 170. *Source*: 8.3 to 9.8 ps an element, whatever the rows, in
/// BF16 on an H100; an H200's memory gains nothing (calibration/measurements/*/pytorch_experts.csv); 8.0 ps
/// of FP32, rows of 64 and of 128 into tables of a million, on an H100 (variant_kernels.csv); PyTorch
/// aten/src/ATen/native/cuda/Indexing.cu.
[[nodiscard]] KernelCall index_add(std::int64_t elements, DataType type);

/// A copy that changes the layout (`elementwise_kernel<copy>`), e.g. contiguous() of a transposed view.
[[nodiscard]] KernelCall strided_copy(std::int64_t elements, DataType type);

/// A strided copy whose source has neighbours of the result @p window elements apart, e.g. contiguous() of
/// keys for a product that reads them transposed: each element lies in a memory sector of its own.
/// *Source*: keys of GPT-2, BERT and OPT on an H100, 7.2 to 8.6 ps an element of 2 or 4 bytes where queries
/// take 3.2 to 4.4 (hf_gpt2, hf_bert and hf_opt_1b3 of calibration/measurements/h100/variants.csv, traced).
[[nodiscard]] KernelCall transposed_copy(std::int64_t elements, std::int64_t window, DataType type);

/// `unrolled_elementwise_kernel<copy>`: a copy of PyTorch 1 whose operands are broadcast or strided, so that
/// each element's offsets are computed: 100 operations for each of @p operands.
/// @param reads tensors of @p elements elements that come from memory: 0 for a broadcast row
/// *Source*: biases of 0.26 to 2.1 million elements, 4.5 to 17.2 us, and a slice of 719 thousand, 12.6 us, on
/// a V100 (../shared/data/kernels/iteration_kernel_traces_v100.csv.gz, April 2021); 6.5 million in 107 us in
/// fb_dlrm_trace_kernels_v100.csv
[[nodiscard]] KernelCall unrolled_copy(std::int64_t elements, double reads, int operands, DataType type);

/// `unrolled_elementwise_kernel<cast>`: read as @p from, written as @p to (kUnvectorised).
/// @param vectorized from FP32 to 16 bits: `vectorized_elementwise_kernel<cast>` (PyTorch 2.6 and later)
[[nodiscard]] KernelCall cast(std::int64_t elements, DataType from, DataType to, bool vectorized = false);

/// A product; the name follows from the type: sgemm, tf32_gemm, hgemm, bf16_gemm; gemv for one row or column.
[[nodiscard]] KernelCall product(const Gemm& gemm, DataType type);

/// torch._grouped_mm: @p gemm.batch products of as many rows in one kernel, and the kernel of one block
/// before it that writes where their operands are.
[[nodiscard]] std::vector<KernelCall> grouped_product(const Gemm& gemm, DataType type);

/// `reduce_kernel<what>`.
[[nodiscard]] KernelCall reduce(std::string_view what, const Reduction& reduction, DataType type);

/// `CatArrayBatchedCopy`.
[[nodiscard]] KernelCall concat(std::int64_t elements, std::int64_t pieces, DataType type);
/// Concatenates pieces that are views of other layouts.
[[nodiscard]] KernelCall concat_strided(std::int64_t elements, std::int64_t pieces, DataType type);

[[nodiscard]] KernelCall copy_to_device(Bytes size, bool pinned);
[[nodiscard]] KernelCall copy_to_host(Bytes size, bool pinned);
[[nodiscard]] KernelCall copy_on_device(Bytes size);

}  // namespace lockstep::kernels
