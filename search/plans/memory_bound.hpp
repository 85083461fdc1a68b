#pragma once

#include "base/units.hpp"
#include "search/plans/plan_candidate.hpp"
#include "search/plans/plan_space.hpp"

namespace lockstep {

/// Memory that the fullest rank needs at least, without context and fragmentation: for plans that need no
/// simulation to be ruled out. With P parameters of a rank's layers (products only) and of the embedding, d
/// replicas of the dense ones:
///
///   P (z + g + 12)          z, g bytes of a parameter and a gradient, 12 of master weights and two moments;
///                           8 beside FP32. zero1 divides the states, zero2 the gradients, zero3 all by d
///                           (Rajbhandari et al., arXiv 1910.02054, section 5)
///   m L / p 2 T h           activations with full recomputation: the input of each layer, of the m
///   micro-batches
///                           in flight; 2 T (2 q + 2 k + f) / t at least without, q, k, f the widths of
///                           queries, keys and between the feed-forward products: 16 T h / t of a GPT
///                           (Korthikanti et al., arXiv 2205.05198, section 4.1, counts 34 with dropout);
///                           shared by t with sequence parallelism
///
/// *Valid for* every plan: it leaves out norms, biases, workspace, buffers, and the head behind a pipeline;
/// with offload, states.
/// @param of_layer what a layer keeps of a micro-batch where nothing is recomputed, as a probe has it:
/// kept
///   in place of these, and of one layer at a time where it is recomputed; 0: not known
[[nodiscard]] Bytes memory_bound(const PlanCandidate& candidate, const PlanProblem& problem,
                                 Bytes of_layer = Bytes{0});

}  // namespace lockstep
