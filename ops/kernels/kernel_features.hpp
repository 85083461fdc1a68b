#pragma once

/// @file
/// What networks see of a kernel call: few numbers that mean the same on every GPU.

#include <optional>
#include <string>
#include <vector>

#include "base/units.hpp"
#include "ops/gpu/gpu_spec.hpp"
#include "ops/kernel.hpp"

namespace lockstep {

/// A kernel call as networks see it.
struct KernelFeatures {
  LearnedFamily family = LearnedFamily::Gemm;
  std::string type;    ///< fp32, tf32, fp16, bf16 or fp8
  std::string layout;  ///< of matrix products: nn, nt, tn or tt
  /// max(arithmetic / peak, bytes / DRAM bandwidth) of the data sheet, and the smallest kernel beside it: no
  /// constant that was ever fitted is in it.
  Seconds bound;
  /// No kernel is shorter: arithmetic at the data sheet's peak; what level 2 cannot hold, at DRAM's
  /// bandwidth.
  Seconds least;
  std::vector<double> call;                   ///< one for each of call_feature_names()
  std::vector<std::vector<double>> elements;  ///< by element, one for each of element_feature_names()
};

/// The names of KernelFeatures::call, in its order (natural logarithms where they begin with log):
///
///   products       log_depth, log_balance (arithmetic time over DRAM time), log_bound (in us);
///                  m_, n_, k_alignment (log2 of the largest power of two that divides, at most 32, / 5);
///                  log_idle_RxC: SM time with tiles of R x C, in whole waves, over that of the results
///   softmax, norm  log_rows, log_columns, log_bound, column_alignment, log_cache (bytes over level 2)
///   pointwise      log_bound, log_cache, reads, writes, log_flops
///   embedding      log_batch, log_tables, log_bound, log_cache (different rows over level 2),
///                  log_waves (bags over 45 warps an SM)
[[nodiscard]] const std::vector<std::string>& call_feature_names(LearnedFamily family);

/// The names of each of KernelFeatures::elements, none where calls have no elements. Of an embedding table:
/// log_rows, log_row_bytes, log_pooling, log_reuse (lookups by different rows), share (of the call's bytes).
[[nodiscard]] const std::vector<std::string>& element_feature_names(LearnedFamily family);

/// std::nullopt for work that no network of any GPU answers for: other families, backward passes of
/// normalisations, tables in host memory, integer types.
[[nodiscard]] std::optional<KernelFeatures> kernel_features(const KernelCall& call, const GpuSpec& gpu);

}  // namespace lockstep
