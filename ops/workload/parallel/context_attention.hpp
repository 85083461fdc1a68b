#pragma once

#include <functional>
#include <vector>

#include "ops/workload/parallel/layer_scope.hpp"

/// @file
/// Attention of a context-parallel rank: its own queries and the keys and values of all ranks, which come
/// piece by piece or at once. Every function is told how one call of attention is launched.

namespace lockstep {

using Attend = std::function<void(const FlashAttention&)>;

/// Transformer Engine's ring, or all keys gathered before, as `context_attention` says (arXiv 2310.01889,
/// 2407.21783). On one rank a single call.
void context_attention(const LayerScope& scope, FlashAttention work, const Attend& attend);

/// PyTorch's, whose pieces are attended to and merged one after the other.
///
/// * Ranks have two pieces of the sequence each, from its ends inwards: the first call is causal over a
/// rank's
///   own tokens, each further one lets all queries see half of another rank's keys, or half of the queries
///   all of them. What is written is the middle rank's half of both.
/// * Results are merged in FP32 by their sums of exponentials, the gradient of queries likewise; gradients of
///   keys and values travel round the ring in FP32, and add up what each rank has for them.
/// * In eager mode every operator is a kernel, and what travels does so under attention. Behind torch.compile
///   merges are one kernel each, and nothing is hidden: a traced collective is waited for where it is called
///   (torch/distributed/_functional_collectives.py, `_maybe_wrap_tensor`).
///
/// *Source*: torch/distributed/tensor/experimental/_attention.py of PyTorch 2.6 (_templated_ring_attention
/// and its backward, _SDPAMerger, _AllGatherRotater, _AllToAllRotater). Small kernels over the sums of
/// exponentials are left out behind torch.compile, which fuses them.
void torch_context_attention(const LayerScope& scope, FlashAttention work, const Attend& attend);

/// Sends something to the next rank of the context group and receives the same from the one before.
[[nodiscard]] std::vector<EventId> shift_round(const LayerScope& scope, Bytes size);

}  // namespace lockstep
