#pragma once

/// @file
/// Steps whose weights have zeros: without structure, or 2:4.

#include "ops/job.hpp"
#include "scenario/resolved_scenario.hpp"
#include "scenario/schedule_spec.hpp"

namespace lockstep {

/// Every Program with a pass over all weights at its end: a weight times its mask, a byte each.
[[nodiscard]] Job masked(Job job, const HostOverheads& host, double elements);

/// The scenario's Job with linear layers on sparse tensor cores: forward and, unless the sparsity leaves it
/// out, the gradient of the input multiply compressed weights; the weight's gradient stays dense, and so do
/// attention, experts in one kernel, and products of vectors. At its end each Program compresses the updated
/// weights: one pass that reads them and their mask, and writes 9/16 of them for each direction.
///
/// The compressed copies stay: 9/16 of the 16-bit weights for each direction. The dense 16-bit weights go
/// where both directions are sparse and the framework keeps such copies beside FP32 ones; autocast's stay.
///
///   t = min over tiles of max(compute(k / 2), (A + 9/16 B + C) / (DRAM bandwidth * memory))  (GemmModel)
///
/// *Assumes* that sparse kernels lose to tiles and waves what dense ones lose; nothing of it is measured
/// here, and the band is that of a guess. Their work is a duration, which counts no FLOPs
/// (flops_with_zeros()). *Source*: twice the dense rate and format: Mishra et al., arXiv 2104.08378, section
/// 2; training with a mask for both directions: Hubara et al., arXiv 2102.08124.
/// @param elements weights of a rank
/// @throws InputError at @p at for a GPU without sparse tensor cores, a precision of other than 16 bits, or
///   a job that multiplies nothing so
[[nodiscard]] Job sparse(const ResolvedScenario& resolved, const SparsitySpec& sparsity, double elements,
                         const SourceLocation& at);

/// FLOPs of the step when sparse products count half of what they do in @p dense, the Job that they replace.
[[nodiscard]] Flops flops_with_zeros(const Job& dense, const Job& sparse);

}  // namespace lockstep
