#pragma once

#include <optional>
#include <string>

#include "ops/kernel_model.hpp"

namespace lockstep {

/// Of a product's fixed time where k is split: the parts are added by a kernel of their own.
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
///                      [* odd instead: of 4 bytes neither; where both operands' rows run along k times 0.72]
///                      [* one_across_k, both_across_k: aligned, and so many operands' rows do not run along
///                      k]
///   compute = blocks * 2 rows columns (ceil(k / split) / of rate + fixed_depth) / rate
///   reread  = waves * (rows + columns that a wave touches) * k / (DRAM bandwidth * memory)
///   memory  = (A + B + C [+ C when it is added to, + (split + 1) C when k is split]) / (DRAM bandwidth *
///   memory) t       = fixed [* 1.5 when k is split]
///             + min over tile shapes and splits of max(compute + exposed * reread, memory)
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
/// *Assumes* that the library picks the best of its tile shapes and splits of k, as its heuristics aim to;
/// that FP8 reaches the same parts of its peak as 16 bits do (Derived) and leaves results of 16 bits; that
/// rows of any orientation are alike for alignment (measured along k).
/// *Valid for* m, n, k >= 1. Checked for m, n, k of 16 to 40,000 and from 4 us on (docs/models.md).
/// *Source*: tiles and waves as in NVIDIA's "Matrix Multiplication Background" guide; alignment of all three
/// matrices: cuBLAS documentation, "Tensor Core Usage" (a result with odd rows alone runs an align1 kernel on
/// A100: github.com/pegainfer-project/pegainfer/pull/1046); on Hopper kernels of the generation before,
/// align2 and, of the one before that, align1, with smaller tiles for a linear layer's forward pass
/// (calibration/measurements/*/pytorch_products.csv): fewer than 4 bytes do not go to shared memory past the
/// registers (PTX ISA, cp.async); constants fitted by tools/derive/gemm_profiles.py and hopper_products.py to
/// the measured products that configs/kernel_efficiency/ names.
class GemmModel final : public KernelModel {
 public:
  [[nodiscard]] std::string name() const override;

  /// @throws std::invalid_argument when the GPU has no unit for the type, or a size is below 1
  [[nodiscard]] Prediction predict(const KernelCall& call, const GpuSpec& gpu) const override;
};

}  // namespace lockstep
