#pragma once

#include <optional>
#include <string>

#include "ops/kernel_model.hpp"

namespace lockstep {

/// Factor on a product's fixed time where k is split: a kernel of its own adds the parts.
inline constexpr double kSplitLaunch = 1.5;

/// How long one product takes with @p profile, by the equations of GemmModel.
/// @param moved what it moves when k is not split; left out: operands and result once
/// @throws std::invalid_argument when the GPU has no unit for the type, or a size is below 1
[[nodiscard]] Seconds time_of_product(const Gemm& gemm, const GemmProfile& profile, const GpuSpec& gpu,
                                      DataType type, std::optional<Bytes> moved = std::nullopt);

/// Dense matrix products, batched or not (cuBLAS).
///
///   blocks  = ceil(batch * ceil(m / rows) * ceil(n / columns) * split / SMs)         on the fullest SM
///   full    = w / (w + half_warps) * (16 + half_warps) / 16,  w = min(blocks * warps, 16)
///   long    = 1 + slowdown * clamp((row - from) / (to - from), 0, 1) * min(1, m / 8192)^(1/3) (long_rows)
///   rate    = peak / SMs * efficiency * full
///   of rate = 1 / long [* unaligned: rows of A, B or, on tensor cores, C are no multiple of 16 bytes]
///                      [* odd instead: of 4 bytes neither; where both operands' rows run along k times
///                      odd_along_k]
///                      [* one_across_k, both_across_k: aligned, and so many operands' rows do not run along
///                      k]
///   compute = blocks * 2 rows columns (ceil(k / split) / of rate + fixed_depth) / rate
///   reread  = waves * (rows + columns that a wave touches) * k / (DRAM bandwidth * memory)
///   memory  = (A + B + C [+ C when it is added to, + (split + 1) C when k is split]) / (DRAM bandwidth *
///   memory) t       = fixed [* 1.5 when k is split]
///             + min over tile shapes and splits of max(compute + exposed * reread, memory)
///   with write_overlap p: (compute^p + (C [+ (split + 1) C]) / (DRAM bandwidth * memory))^p)^(1/p) in place
///   of compute, p = 1 in kernels of unaligned_tiles
///
/// A tile writes its part of C when its arithmetic has ended, so that sums of a few hundred columns leave
/// much of the writing beside no arithmetic: a query's and a key's product, 2,048 x 2,048 x 128.
///
/// TF32's instructions of Hopper read both operands along k (PTX ISA, wgmma: other types can do without), so
/// that kernels transpose one that does not lie so on its way; kernels of generations before, which take rows
/// that are not aligned, are alike for all.
///
/// A wave is what is resident at a time: 16 warps an SM, or one block; tiles run along n first. k is split
/// with at most `most_tiles_to_split` tiles for each SM.
/// `long_rows` is charged where the rows of both operands run along k (a linear layer's forward pass),
/// because it was measured there only; `row` are its bytes.
///
/// A product of one row or one column, batched or not, runs in kernels without tiles that read the matrix
/// once (gemv2T, gemv2N, gemvx, gemvNSP, dot), and so does a batch of products of depth 1 on Volta and later
/// (gemmk1), if it is sooner done:
///
///   t       = fixed + (A + B + C [+ C]) / (DRAM bandwidth * memory),  fixed: of tensor or FP32 cores, the
///   less
///
/// Where TF32's rows are not aligned the library chooses among kernels of FP32's own cores, too, which is
/// where a recommender's interaction ends (9 to 27 columns): the sooner of both.
///
/// A grouped product (all groups in one kernel of CUTLASS, torch._grouped_mm) has tiles of 128 x 256, or of
/// 64 x 128 where groups have 128 rows or columns or fewer, and does not split k; its arithmetic, in waves
/// over the tiles of all groups, and what all groups move hide each other but for
///
///   t       = fixed + (compute^3 + memory^3)^(1/3)
///
/// Backward's FP8 products have split accumulators (Transformer Engine's _2X_ACC_DGRAD and _2X_ACC_WGRAD,
/// torchao's Float8GemmConfig without use_fast_accum). On Hopper (`promotes_fp8`) FP32's cores then add the
/// partial sums of each 128 of k (DeepSeek-V3, arXiv 2412.19437, 3.3.2; CUTLASS, mma_promotion_interval 4).
/// One group of warps adds while another multiplies, which hides all but
///
///   compute += 0.18 * blocks * rows * columns * k / 128 * 2 / (peak of FP32 / SMs)
///
/// 0.18 is the median of 30 products with one scale a tensor on an H100 and an H200: they take 0.98 to 1.12
/// times as long as with fast accumulation, 1.026 in the median (calibration/measurements/*/
/// pytorch_float8.csv). Nothing hidden would be 1.11 to 1.18; with a scale for each row it is 1.02 to 1.25.
/// cuBLAS's flag has an effect on Ada and Hopper only; Blackwell's tensor cores add in FP32.
///
/// *Assumes* that the library picks the best of its tile shapes and splits of k, as its heuristics aim to;
/// that FP8 reaches the same parts of its peak as 16 bits do (Derived) and leaves results of 16 bits; that
/// rows of any orientation are alike for alignment (measured along k).
/// *Valid for* m, n, k >= 1. Checked for m, n, k of 16 to 40,000 and from 4 us on (docs/models.md).
/// *Source*: tiles and waves as in NVIDIA's "Matrix Multiplication Background" guide; alignment of all three
/// matrices: cuBLAS documentation, "Tensor Core Usage" (a result with odd rows alone runs an align1 kernel on
/// A100: github.com/pegainfer-project/pegainfer/pull/1046); on Hopper kernels of the generation before,
/// align2 and, of the one before that, align1, with smaller tiles for a linear layer's forward pass
/// (calibration/measurements/*/pytorch_products.csv): fewer than 4 bytes do not go to shared memory past the
/// registers (PTX ISA, cp.async); kernels of vectors: ../shared/data/traces/{single_rank, dlrm_8xv100},
/// iteration_kernel_traces_v100 (2,048 x 256 times a vector 5 us, 1,024 of 32 x 32 on an A100 8 and 11, whose
/// outer products take 10); that a P100 has no gemmk1 and that two rows have tiles: the kernels of 86,000
/// batched products of NeuSight; grouped products: tiles of aten/src/ATen/native/cuda/GroupMM.cu
/// (dispatch_bf16_grouped_kernel_on_tile_size, Hopper), 3 from the six of an H100
/// (calibration/measurements/h100/ pytorch_experts.csv: groups of 128 to 2,048 rows); constants fitted by
/// tools/derive/gemm_profiles.py and hopper_products.py to the measured products that
/// configs/kernel_efficiency/ names.
class GemmModel final : public KernelModel {
 public:
  [[nodiscard]] std::string name() const override;

  /// @throws std::invalid_argument when the GPU has no unit for the type, or a size is below 1
  [[nodiscard]] Prediction predict(const KernelCall& call, const GpuSpec& gpu) const override;
};

}  // namespace lockstep
