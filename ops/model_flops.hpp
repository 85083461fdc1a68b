#pragma once

/// @file
/// Arithmetic that a model needs, for MFU (model FLOPs utilisation; Chowdhery et al., arXiv 2204.02311, app.
/// B).

#include <cstdint>
#include <span>

#include "base/units.hpp"
#include "ops/gpu/gpu_spec.hpp"
#include "ops/job.hpp"
#include "ops/kernel.hpp"

namespace lockstep {

/// Name of the ranges in which a Program computes activations a second time: no work of the model.
inline constexpr const char* kRecomputeRange = "recompute";

/// A kernel's part of the FLOPs of the model; a multiply-add counts as two.
///
///   product                   2 batch m n k
///   convolution, each pass    2 batch in_channels out_channels output pixels filter pixels
///   flash attention, forward  4 batch heads queries keys head_size, half of it when causal
///   flash attention, backward twice that: four products (dQ, dK, dV, dP). The fifth, S = Q K^T anew, is
///                             recomputation and no work of the model.
///   everything else           0
///
/// *Assumes* that the model needs every product that is launched outside of ranges called kRecomputeRange.
/// *Source*: Dao, arXiv 2307.08691, section 4.1, for attention.
[[nodiscard]] Flops model_flops(const KernelCall& call);

/// FLOPs of the model in one step, all ranks.
[[nodiscard]] Flops model_flops(const Job& job);

/// How long the products of one step would take if every GPU ran at its dense peak for their types; mean of
/// all ranks. MFU is this time over the step's.
/// @param gpus models of GPU
/// @param gpu_of_rank by rank: index into @p gpus
/// @throws std::invalid_argument when a GPU has no unit for the type of a product
[[nodiscard]] Seconds time_at_peak(const Job& job, std::span<const GpuSpec> gpus,
                                   std::span<const std::uint32_t> gpu_of_rank);

}  // namespace lockstep
